"""What the API keeps of itself: the answers to writes that came with a key."""

from typing import ClassVar

from django.db import models
from django.db.models.functions import Now

KEY_CHARACTERS = 200


class IdempotencyRecord(models.Model):
    """One write by its key, and what was answered: the same request sent again is shown that, and nothing is done twice."""

    tenant = models.ForeignKey("tenants.Tenant", db_index=False, on_delete=models.PROTECT, related_name="+")
    caller = models.CharField(max_length=40, help_text="Whose key it is: agent:7 or member:3.")
    key = models.CharField(max_length=KEY_CHARACTERS)
    request_sha256 = models.CharField(max_length=64)
    status = models.PositiveSmallIntegerField(db_default=0, help_text="Of the answer; 0 while there is none.")
    body = models.TextField(db_default="", help_text="JSON; empty where words may have to be forgotten.")
    row_id = models.BigIntegerField(null=True, help_text="The row that was answered with, to be shown as it stands.")
    location = models.CharField(max_length=200, db_default="")
    claimed_at = models.DateTimeField(db_default=Now())
    expires_at = models.DateTimeField()

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["tenant", "caller", "key"], name="caller_uses_an_idempotency_key_once"),
        ]
        indexes: ClassVar = [models.Index(fields=["expires_at"], name="idempotency_record_by_expiry")]

    def __str__(self) -> str:
        return f"{self.caller} {self.status}"
