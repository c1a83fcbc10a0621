"""Starts and stops the processes that Preceptor needs on one machine; it imports no Django."""
