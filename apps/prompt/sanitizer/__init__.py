"""The sanitizer: removes what somebody else's text must not bring into a prompt."""
