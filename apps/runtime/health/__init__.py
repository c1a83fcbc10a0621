"""Health of the workers and the beat: stuck turns, overdue scheduled jobs, and a ping of the workers."""
