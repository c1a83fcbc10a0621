"""Brings a row, an agent or a tenant back to what it was, by the nouns' own acts as new versions; it never rewrites history."""
