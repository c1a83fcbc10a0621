"""Agent memory, memory blocks and tiers, and customer profiles, mostly written by the agent; procedures are skills."""
