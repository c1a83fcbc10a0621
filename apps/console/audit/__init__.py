"""Console: the audit log, refused attempts, and restoring."""
