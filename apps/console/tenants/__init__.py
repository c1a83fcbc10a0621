"""Console: members, grants, policy, settings, kill switches and webhooks of a tenant."""
