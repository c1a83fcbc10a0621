"""The kernel every governed write passes: actors, policy, the door, change records, proposals; it knows no noun."""
