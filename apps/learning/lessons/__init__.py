"""Lessons from people's edits and decisions, edit clusters and examples; no model is called here."""
