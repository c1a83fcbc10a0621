"""Tenants, people, agents, their tokens and grants, and how a token or login becomes an Actor; not what they may do."""
