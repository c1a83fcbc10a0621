"""The built-in tools of an agent, and the calls of external ones."""
