"""Processes that turn resolved conversations into draft skills; it owns verdicts, never the skills themselves."""
