"""The digest: lessons become the next learning version."""
