"""Sessions, turns and the loop that answers a customer with the agent's tools; learning is in `apps/learning`."""
