"""The checkpoint: a named moment to which an agent or a tenant can be restored."""

from typing import ClassVar

from django.core.validators import MaxLengthValidator
from django.db import models

from apps.governance.models import Governed
from apps.governance.models.base import GovernedQuerySet
from apps.governance.stored_text import validate_storable_text


class Checkpoint(Governed):
    """A named moment of one agent, or of the whole tenant.

    A checkpoint contains no copy of data, because the change records contain the state of that moment.
    """

    name = models.CharField(
        max_length=120, validators=[validate_storable_text], help_text="The name that people will look for."
    )
    agent = models.ForeignKey(
        "tenants.Agent",
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="+",
        help_text="Leave this empty for a moment of the whole tenant.",
    )
    moment = models.DateTimeField()
    reason = models.TextField(blank=True, validators=[validate_storable_text, MaxLengthValidator(2_000)])
    created_by = models.CharField(max_length=200, editable=False)

    noun = "checkpoint"
    objects = GovernedQuerySet["Checkpoint"].as_manager()

    class Meta(Governed.Meta):
        ordering: ClassVar = ["-moment", "-id"]

    def __str__(self) -> str:
        return self.name
