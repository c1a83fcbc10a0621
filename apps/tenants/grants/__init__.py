"""Grants: what roles, agents and members may do in a tenant."""
