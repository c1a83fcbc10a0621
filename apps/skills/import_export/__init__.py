"""Skills as SKILL.md folders and archives, in and out."""
