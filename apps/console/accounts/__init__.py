"""Console: sign-in, second factors, browser sessions, and notification preferences."""
