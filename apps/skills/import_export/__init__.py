"""Import and export of skills as SKILL.md folders and archives."""
