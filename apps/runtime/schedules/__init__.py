"""Scheduled runs, from the moment they are due to their turn."""
