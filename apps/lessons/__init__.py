"""Lessons, what a digest may make of them, and what people change in drafts; rules alone, no model is asked here."""
