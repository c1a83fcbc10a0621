"""Who an agent is, whom it represents and which rules it keeps, written by operators, never by the agent; not what it remembers."""
