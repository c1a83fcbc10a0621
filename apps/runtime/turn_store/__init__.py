"""A turn in the database: claim, lease, journal, and the point from which a turn resumes after a crash."""
