"""Models of sign-in: account events, attempts per name or address, second factors and recovery codes.

These tables belong to no tenant. Only the login's database role reads account events, second factors and recovery
codes; no tenant, operator, agent or worker does.
"""

from typing import ClassVar

from django.db import models
from django.db.models.functions import Now


class AccountEvent(models.Model):
    """One change of a person's sign-in. Rows are never changed, and are deleted when they expire."""

    class Kind(models.TextChoices):
        """The kind of change, labelled for the person to read."""

        PASSWORD_SET = "password_set", "The password was changed"
        CREDENTIALS_RESET = "credentials_reset", "The password was invalidated and every session ended"
        FACTOR_SET = "factor_set", "A second factor was set up"
        FACTOR_DROPPED = "factor_dropped", "The second factor was removed"
        CODES_RENEWED = "codes_renewed", "New recovery codes were made"
        CODE_USED = "code_used", "A recovery code was used"
        SIGNED_OUT = "signed_out", "Other browsers were signed out"

    user = models.ForeignKey("tenants.User", db_index=False, on_delete=models.CASCADE, related_name="+")
    kind = models.CharField(max_length=20, choices=Kind.choices)
    ip_address = models.CharField(max_length=45, blank=True, help_text="Empty: an admin did it, not the person.")
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        ordering: ClassVar = ["-id"]
        indexes: ClassVar = [models.Index(fields=["user", "-id"], name="account_event_of_person")]

    def __str__(self) -> str:
        return self.get_kind_display()


class SignInAttempts(models.Model):
    """The failed attempts of one name or address.

    The subject is a keyed hash, since a password may be typed into the wrong field.
    """

    subject = models.CharField(max_length=64, primary_key=True)
    attempts = models.FloatField(help_text="Not an integer, because attempts decay over time.")
    last_attempt_at = models.DateTimeField(db_default=Now())
    refused_until = models.DateTimeField(db_default=Now())

    class Meta:
        indexes = (models.Index(fields=["last_attempt_at"], name="sign_in_attempts_by_time"),)

    def __str__(self) -> str:
        return f"{self.attempts:.0f} attempts"


class SecondFactor(models.Model):
    """The sealed secret of a person's authenticator codes, and the time step of the last code that was used."""

    user = models.OneToOneField("tenants.User", primary_key=True, on_delete=models.CASCADE, related_name="+")
    ciphertext = models.TextField()
    last_step = models.BigIntegerField(
        help_text="In steps of thirty seconds since 1970. The code of this step or an earlier one is not accepted."
    )

    def __str__(self) -> str:
        return f"Second factor of #{self.user_id}"


class RecoveryCode(models.Model):
    """A recovery code for a lost device. It works once, is stored as a keyed hash, and is deleted when it is used."""

    user = models.ForeignKey("tenants.User", on_delete=models.CASCADE, related_name="+")
    digest = models.CharField(max_length=64, primary_key=True)

    def __str__(self) -> str:
        return f"Recovery code of #{self.user_id}"
