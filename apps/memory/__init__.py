"""What an agent remembers of its trade and of a customer, written by the agent itself; not procedures."""
