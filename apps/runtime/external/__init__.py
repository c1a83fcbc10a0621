"""Turns of external agents, which call a model of their own."""
