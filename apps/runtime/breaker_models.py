"""What workers know of endpoints that fail."""

from typing import ClassVar

from django.db import models

from apps.runtime.breaking import State


class CircuitBreaker(models.Model):
    """What is known of a failing model at an endpoint; 0 is the installation's.

    It is no tenant's: tenants share the installation's endpoint, and whoever's call fails there spares the others theirs.
    """

    endpoint_id = models.BigIntegerField()
    model = models.CharField(max_length=80)
    state = models.CharField(max_length=10, default=State.CLOSED.value)
    failures = models.PositiveIntegerField(default=0)
    calls = models.PositiveIntegerField(default=0)
    window_started_at = models.DateTimeField(null=True)
    opened_until = models.DateTimeField(null=True)
    opened_for_seconds = models.PositiveIntegerField(default=0)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["endpoint_id", "model"], name="model_has_one_breaker_at_an_endpoint"),
            models.CheckConstraint(
                condition=models.Q(state__in=[state.value for state in State]), name="breaker_is_in_a_known_state"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.model} ({self.state})"
