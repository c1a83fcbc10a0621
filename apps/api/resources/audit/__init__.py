"""REST: the audit log, its verifications, and restoring."""
