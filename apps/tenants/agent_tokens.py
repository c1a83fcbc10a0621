"""The keys by which agents come over the API."""

from typing import ClassVar

from django.db import models

from apps.governance.models import Governed
from apps.governance.models.base import GovernedQuerySet


class AgentToken(Governed):
    """A bearer token of an agent: shown once, stored as a digest. It cannot name anybody but the agent."""

    agent = models.ForeignKey("tenants.Agent", on_delete=models.PROTECT, related_name="tokens")
    name = models.CharField(max_length=80)
    prefix = models.CharField(max_length=16)
    digest = models.CharField(max_length=64, unique=True)
    expires_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)
    last_used_at = models.DateTimeField(null=True, blank=True)

    unrecorded = Governed.unrecorded | {"digest", "last_used_at"}

    noun = "token"
    objects = GovernedQuerySet["AgentToken"].as_manager()

    class Meta(Governed.Meta):
        ordering: ClassVar = ["-id"]
        constraints: ClassVar = [
            models.CheckConstraint(
                condition=models.Q(expires_at__isnull=True) | models.Q(expires_at__gt=models.F("created_at")),
                name="token_expires_after_it_is_issued",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.name} ({self.prefix}…)"
