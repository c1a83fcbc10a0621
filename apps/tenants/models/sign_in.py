"""Models of sign-in: account events, attempts per name or address, second factors and recovery codes.

These tables belong to no tenant. Only the login's database role reads account events, second factors and recovery
codes; no tenant, operator, agent or worker does.
"""

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


class SignInAttempts(models.Model):
    """One name or one address, told by a keyed hash: what is typed into the wrong field stands nowhere."""

    subject = models.CharField(max_length=64, primary_key=True)
    attempts = models.FloatField(help_text="What drains is no whole number.")
    last_attempt_at = models.DateTimeField(db_default=Now())
    refused_until = models.DateTimeField(db_default=Now())

    class Meta:
        indexes = (models.Index(fields=["last_attempt_at"], name="sign_in_attempts_by_time"),)

    def __str__(self) -> str:
        return f"{self.attempts:.0f} attempts"


class SecondFactor(models.Model):
    """What makes a person's codes, sealed, and the last step of the clock whose code was used."""

    user = models.OneToOneField("tenants.User", primary_key=True, on_delete=models.CASCADE, related_name="+")
    ciphertext = models.TextField()
    last_step = models.BigIntegerField(
        help_text="In steps of thirty seconds since 1970. An older code, or this one, opens nothing."
    )

    def __str__(self) -> str:
        return f"Second factor of #{self.user_id}"


class RecoveryCode(models.Model):
    """A code that works once, for whoever lost the device; told by a keyed hash, and gone once used."""

    user = models.ForeignKey("tenants.User", on_delete=models.CASCADE, related_name="+")
    digest = models.CharField(max_length=64, primary_key=True)

    def __str__(self) -> str:
        return f"Recovery code of #{self.user_id}"
