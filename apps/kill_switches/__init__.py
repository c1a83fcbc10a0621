"""What people have stopped for now: learning, sending, an agent; not how a turn waits for it."""
