"""Lessons and what a digest may make of them, and what people change in drafts; no model is asked here."""
