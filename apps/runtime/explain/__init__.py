"""Explanations of replies, and the exposure of a row: the sessions that carried it."""
