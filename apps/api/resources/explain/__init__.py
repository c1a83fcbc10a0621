"""REST: explanations of replies, and the exposure of a row, which is the sessions that carried it."""
