"""Pieces of a reply on their way to whoever listens."""
