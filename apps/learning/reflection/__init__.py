"""Reflection: a day's conversations become proposals for memory."""
