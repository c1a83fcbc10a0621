"""Writes grants and database rights from the policy table, and finds where the database differs from it."""
