"""A proposal between submission and effect: inbox, approvals, application, expiry, undo; rows are in `apps/governance`."""
