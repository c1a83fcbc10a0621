"""Appliers: for each kind of proposal, the write that its approval makes."""
