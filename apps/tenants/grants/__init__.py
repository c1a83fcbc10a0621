"""Grants: the acts and fields that roles, agents and members may use in a tenant."""
