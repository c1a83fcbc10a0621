"""Extraction: a resolved conversation becomes a skill draft, or a verdict with the reason for none."""
