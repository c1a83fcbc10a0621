"""A tenant's webhooks: addresses, subscribed events and the outbox of deliveries; sending is in `apps/runtime`."""
