"""REST: drafts, escalations, tool approvals, send rules and reported replies."""
