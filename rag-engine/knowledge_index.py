#!/usr/bin/env python3
"""Index folders of notes for knowledge_search.py; --help tells how."""

import sys

from _interpreter import ensure_interpreter

if __name__ == "__main__":
    ensure_interpreter()
    from rag_engine.cli.index import main

    sys.exit(main())
