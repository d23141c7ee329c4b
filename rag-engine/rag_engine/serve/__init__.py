"""The resident server: one process that keeps model and indexes open, and its life cycle."""
