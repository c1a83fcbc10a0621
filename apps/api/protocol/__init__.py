"""HTTP as the REST API speaks it: authentication, idempotency, entity tags, pagination, filters, rate limits, problem documents."""
