"""REST: proposals, decisions on proposals, and comments."""
