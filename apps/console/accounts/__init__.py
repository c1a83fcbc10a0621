"""Console: signing in, second factors, browser sessions, and a person's notification preferences."""
