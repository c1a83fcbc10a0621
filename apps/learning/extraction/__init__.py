"""Extraction: a resolved conversation becomes a skill draft, or a reason why not."""
