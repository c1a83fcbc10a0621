"""The API's own table: responses to writes that were sent with an idempotency key."""

from typing import ClassVar

from django.db import models
from django.db.models.functions import Now

KEY_CHARACTERS = 200


class IdempotencyRecord(models.Model):
    """One write identified by its idempotency key, and its response.

    A repeated request gets the stored response, and is not executed again.
    """

    tenant = models.ForeignKey("tenants.Tenant", db_index=False, on_delete=models.PROTECT, related_name="+")
    caller = models.CharField(max_length=40, help_text="The caller whose key it is: agent:7 or member:3.")
    key = models.CharField(max_length=KEY_CHARACTERS)
    request_sha256 = models.CharField(max_length=64)
    status = models.PositiveSmallIntegerField(db_default=0, help_text="HTTP status; 0 while there is no response.")
    body = models.TextField(db_default="", help_text="JSON; empty where the text may have to be erased later.")
    row_id = models.BigIntegerField(
        null=True, help_text="The row of the response, which is read again for a repeated request."
    )
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
