"""How much of one text stands in another."""
