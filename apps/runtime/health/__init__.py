"""Health of the workers: stuck turns, alarms, statistics of the engine."""
