"""Streaming of reply pieces from the worker to connected clients."""
