"""Console: explanations of replies, session prompts, and the cache cost of a session."""
