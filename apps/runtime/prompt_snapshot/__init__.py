"""The frozen prompt of a session: gathered, rendered and kept by hash."""
