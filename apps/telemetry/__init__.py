"""Log lines and metrics of a process, without Django and without any customer's text."""
