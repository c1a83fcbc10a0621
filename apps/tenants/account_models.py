"""What happened to the account of a person. Only the login's database role reads it; a person belongs to no tenant."""

from typing import ClassVar

from django.db import models
from django.db.models.functions import Now


class AccountEvent(models.Model):
    """One change of how a person signs in. Rows are added, and go with their time; none is ever changed."""

    class Kind(models.TextChoices):
        """What happened, as its person reads it."""

        PASSWORD_SET = "password_set", "The password was changed"
        CREDENTIALS_RESET = "credentials_reset", "The password was made worthless and every session ended"
        FACTOR_SET = "factor_set", "A second factor was set up"
        FACTOR_DROPPED = "factor_dropped", "The second factor was removed"
        CODES_RENEWED = "codes_renewed", "New recovery codes were made"
        CODE_USED = "code_used", "A recovery code was used"
        SIGNED_OUT = "signed_out", "Other browsers were signed out"

    user = models.ForeignKey("tenants.User", db_index=False, on_delete=models.CASCADE, related_name="+")
    kind = models.CharField(max_length=20, choices=Kind.choices)
    ip_address = models.CharField(max_length=45, blank=True, help_text="Empty: it was done to the person, not by them.")
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        ordering: ClassVar = ["-id"]
        indexes: ClassVar = [models.Index(fields=["user", "-id"], name="account_event_of_person")]

    def __str__(self) -> str:
        return self.get_kind_display()
