"""Console: agents, their set-up, tools, tool servers, schedules, model endpoints and handoffs."""
