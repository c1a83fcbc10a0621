"""Limits of a turn: budgets, retries, circuit breakers and fairness between tenants."""
