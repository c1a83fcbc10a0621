"""HTTP requests to addresses that tenants enter, guarded against SSRF at the socket."""
