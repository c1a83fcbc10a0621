"""E-mails to people about work that waits for them, and the sweep that queues webhook events about reviews."""
