"""The sanitizer: removes or neutralises parts of untrusted text that must not reach a prompt."""
