"""When an agent begins by itself, and with which approved skill; not how a run becomes a turn."""
