"""How often somebody tried to sign in under a name, or from an address."""

from django.db import models
from django.db.models.functions import Now


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
