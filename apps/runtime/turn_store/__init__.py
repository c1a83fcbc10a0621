"""A turn in the database: claim, lease, journal, and where to resume after a crash."""
