"""Indexing: scan -> diff -> chunk -> embed -> write -> publish; `run.py` is where it begins."""
