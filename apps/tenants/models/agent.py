"""Agent fields for distillation and learning (abstract models), and `AgentToken`, the API token of an agent."""

from typing import ClassVar

from django.db import models

from apps.governance.models import Governed
from apps.governance.models.base import GovernedQuerySet
from apps.tenants.models.endpoints import Endpoint


def _endpoint_field(label: str, model: str) -> "models.ForeignKey[Endpoint | None]":
    return models.ForeignKey(
        Endpoint,
        verbose_name=label,
        null=True,
        blank=True,
        db_index=False,
        on_delete=models.PROTECT,
        related_name="+",
        help_text=f"Where the {model} is reached. Empty: where the installation says.",
    )


class DistillationSettings(models.Model):
    """The tiers that are distilled on schedule, with their models and endpoints (R174)."""

    is_memory_distilled = models.BooleanField(
        "memory is distilled",
        default=False,
        help_text="On: results of its conversations become part of its memory on a schedule, without anybody's own words.",
    )
    is_short_tier_distilled = models.BooleanField("short tier", default=True, help_text="Every night, without a model.")
    is_mid_tier_distilled = models.BooleanField("mid tier", default=True, help_text="Every week.")
    is_long_tier_distilled = models.BooleanField(
        "long tier", default=False, help_text="Every month. Its first run waits for a person."
    )
    distil_model_mid = models.CharField(
        "model of the mid tier", max_length=80, blank=True, help_text="Empty: the agent's own."
    )
    distil_model_long = models.CharField(
        "model of the long tier", max_length=80, blank=True, help_text="Empty: the agent's own."
    )
    distil_endpoint_mid = _endpoint_field("endpoint of the mid tier", "model of the mid tier")
    distil_endpoint_long = _endpoint_field("endpoint of the long tier", "model of the long tier")

    class Meta:
        abstract = True


class LearningSettings(models.Model):
    """Settings of learning: daily reflection, the notebook, and examples of corrected drafts."""

    has_reflection = models.BooleanField(
        "reflects on its day",
        default=False,
        help_text="On: at 23:00 in the tenant's time zone the day's conversations are read together. The lessons wait as drafts.",
    )
    has_notebook = models.BooleanField(
        "keeps a notebook",
        default=False,
        help_text="On: the agent notes reminders, tasks and scratch for later, and its sessions carry the open ones.",
    )
    has_examples = models.BooleanField(
        "is shown examples",
        default=False,
        help_text="On: for a customer with few corrections, the prompt has up to three examples that people kept, without"
        " personal data.",
    )

    class Meta:
        abstract = True


class AgentToken(Governed):
    """A bearer token of an agent, which is shown once and stored as a digest. It authenticates as this agent only."""

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
