"""Measures how much of one text is repeated in another."""
