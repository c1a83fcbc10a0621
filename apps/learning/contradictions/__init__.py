"""Contradictions: which lines that an agent goes by cannot both be right, as a nightly look found them; it does not look itself."""
