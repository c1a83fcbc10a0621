"""Delivery of webhooks: payloads, signatures and retries."""
