"""REST: members, grants, settings, spend, kill switches and webhooks of a tenant."""
