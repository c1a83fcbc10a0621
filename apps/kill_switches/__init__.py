"""Kill switches that stop learning, sending or an agent; waiting for them is in `apps/runtime`."""
