"""What people are told by e-mail of what waits for them; not what webhooks are told, nor who decides what."""
