"""Command lines: parse arguments, call the package, print."""
