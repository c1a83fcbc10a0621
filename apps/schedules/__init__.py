"""Schedules that start an agent by itself with an approved skill; runs are in `apps/runtime`."""
