#!/usr/bin/env python3
"""Start, stop and ask for the resident server; --help tells how."""

import sys

from _interpreter import ensure_interpreter

if __name__ == "__main__":
    ensure_interpreter()
    from rag_engine.cli.server import main

    sys.exit(main())
