"""Work on conversations that waits for a person: drafts, escalations and send rules; it does not import the runtime."""
