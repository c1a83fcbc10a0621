"""Tenants, people, agents, tokens and grants, and the way from a token or login to an Actor; policy is in `apps/governance`."""
