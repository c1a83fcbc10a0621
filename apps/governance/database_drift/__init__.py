"""Whether the database still has the row security, triggers and rights that this release expects."""
