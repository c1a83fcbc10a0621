"""An agent's persona, overlays, identity cards and standing rules, written by operators and never by the agent."""
