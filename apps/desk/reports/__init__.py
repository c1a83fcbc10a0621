"""What people report about an agent's reply: that it is wrong, in what, and what came of it; no agent reads one."""
