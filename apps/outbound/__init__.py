"""Requests to addresses that a tenant typed in, guarded against SSRF down to the socket; not what is asked or answered there."""
