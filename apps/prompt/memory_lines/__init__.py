"""Memory as lines: sections, diffs, and lines that are held for review."""
