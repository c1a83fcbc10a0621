"""Bulk decisions: many proposals decided by one act, by a worker that may die."""
