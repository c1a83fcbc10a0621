"""REST: agents, their tokens, tools, schedules, model endpoints and handoffs."""
