"""Memory as lines: sections, differences, and what is held for review."""
