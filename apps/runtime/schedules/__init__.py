"""Scheduled runs, from the due time to the turn."""
