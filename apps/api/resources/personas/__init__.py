"""REST: personas, overlays, identity cards and standing rules."""
