"""The scanner for prompt injection: text that gives the model orders."""
