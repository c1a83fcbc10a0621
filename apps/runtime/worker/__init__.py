"""The worker process: the engine's threads, connections, heartbeat and shutdown."""
