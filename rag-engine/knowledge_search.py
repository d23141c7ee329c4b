#!/usr/bin/env python3
"""Search the notes that knowledge_index.py has indexed; --help tells how."""

import sys

from _interpreter import ensure_interpreter

if __name__ == "__main__":
    ensure_interpreter()
    from rag_engine.cli.search import main

    sys.exit(main())
