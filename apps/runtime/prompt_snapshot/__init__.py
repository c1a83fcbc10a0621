"""The frozen prompt of a session: its rows are loaded, rendered and stored by hash."""
