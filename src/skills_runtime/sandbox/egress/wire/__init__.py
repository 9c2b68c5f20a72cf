"""Parsers of what clients and servers send: pure, bounded and strict, for two readings of one text are an attack."""
