"""Model endpoints of a tenant, their keys and prices."""
