"""The scanner for text that tries to give the model orders."""
