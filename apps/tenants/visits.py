"""The visit: a person of the platform's staff in the books of a tenant they are no member of."""

from typing import ClassVar, Final

from django.core.validators import MaxLengthValidator
from django.db import models

from apps.governance.models import Governed
from apps.governance.models.base import GovernedQuerySet
from apps.governance.stored_text import plain_text

VISIT_MINUTES: Final = 60


class StaffAccess(Governed):
    """Who looked in, why, and until when at most. It belongs to the tenant, whose members read it."""

    user = models.ForeignKey("tenants.User", on_delete=models.PROTECT, related_name="+")
    reason = models.TextField("why", validators=[plain_text, MaxLengthValidator(500)])
    expires_at = models.DateTimeField("until at most")
    ended_at = models.DateTimeField("left", null=True, blank=True)

    noun = "visit"
    objects = GovernedQuerySet["StaffAccess"].as_manager()

    class Meta(Governed.Meta):
        ordering: ClassVar = ["-id"]
        verbose_name = "visit of platform staff"
        verbose_name_plural = "visits of platform staff"
        constraints: ClassVar = [models.CheckConstraint(condition=~models.Q(reason=""), name="staff_access_says_why")]

    def __str__(self) -> str:
        return f"Visit of staff:{self.user_id}"
