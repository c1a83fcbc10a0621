"""Contradictions between two texts, found without a model."""
