"""The audit log: the hash chain over change records, its verification, approval receipts, and the history of a row."""
