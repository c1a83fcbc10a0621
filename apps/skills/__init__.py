"""Skills: runbooks that an agent drafts, a person approves and an agent fetches on demand."""
