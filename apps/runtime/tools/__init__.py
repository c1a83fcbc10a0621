"""The built-in tools of an agent, and calls of external tools."""
