"""Text in one form before it is compared: folding, look-alikes, spacing."""
