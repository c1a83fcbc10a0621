"""Limits of a turn: budgets, retries, circuit breakers, fairness between tenants."""
