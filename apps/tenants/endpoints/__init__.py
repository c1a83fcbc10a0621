"""A tenant's model endpoints with their keys and prices."""
