"""Text normalization for comparison: case folding, look-alikes and spacing."""
