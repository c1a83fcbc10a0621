"""The kernel of every governed write: actors, the policy, authorization, change records and proposals; it knows no domain app."""
