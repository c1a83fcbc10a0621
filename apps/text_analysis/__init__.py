"""What can be read from words alone: whom they identify, what says the same, what contradicts; no rows, no model."""
