"""REST: proposals, the decisions on them, and comments."""
