"""The sections of a prompt, rendered to the byte."""
