"""A person's second factor. Only the login's database role reads these tables; no tenant, operator, agent or worker does."""

from django.db import models


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
