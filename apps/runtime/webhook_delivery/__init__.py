"""Webhook deliveries: payloads, signatures, retries."""
