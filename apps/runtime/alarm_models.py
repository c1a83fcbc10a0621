"""When the beat last woke the house."""

from django.db import models


class PeriodicTask(models.Model):
    """One entry of the beat's table: how often it is due, and when a worker was last woken by it. It is no tenant's."""

    task = models.CharField(max_length=120, primary_key=True)
    interval_seconds = models.FloatField()
    registered_at = models.DateTimeField(help_text="When a beat first had it in its table.")
    last_run_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return self.task
