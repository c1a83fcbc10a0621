"""REST: the audit log, its verification, and restore."""
