"""Backups: the archive, restoring it, and the drill that compares both."""
