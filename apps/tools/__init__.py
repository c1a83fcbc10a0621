"""External tool servers, the tools they list, and the tools each agent may call; calls are in `apps/runtime`."""
