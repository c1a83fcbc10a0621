"""HTTP for the REST API: authentication, idempotency, ETags, pagination, filters, rate limits and problem documents."""
