"""Reflection: what a day's conversations taught becomes proposals for memory."""
