"""REST: an agent's memory, memory blocks and tiers, customer profiles and the notebook."""
