"""Console: why a reply was given, what a session's prompt said, and what it cost in the cache."""
