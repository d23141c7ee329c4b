"""Local knowledge search: index folders of notes, find the passages that answer a question."""

__version__ = "0.1.0"
