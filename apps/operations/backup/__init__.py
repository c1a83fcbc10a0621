"""Backups: the archive, its restore, and the drill that compares a restored database with the original."""
