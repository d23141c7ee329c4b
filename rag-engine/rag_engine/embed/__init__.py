"""Embedding models: where their files come from, and the engines that run them."""
