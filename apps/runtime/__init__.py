"""Sessions, turns and the loop that answers a customer, with the agent's tools; not what is learned afterwards."""
