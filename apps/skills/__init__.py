"""Runbooks an agent drafts and a person approves, fetched on demand; not facts, and not the prompt that lists them."""
