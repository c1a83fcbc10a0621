"""Turns that an external agent takes with its own model."""
