"""What an agent's page says about distilling its memory."""

from django.db import models

from apps.tenants.endpoint_models import Endpoint


def _endpoint(label: str, model: str) -> "models.ForeignKey[Endpoint | None]":
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


class Distilled(models.Model):
    """Which tiers are distilled by the clock, and by which model at which endpoint (R174)."""

    is_memory_distilled = models.BooleanField(
        "memory is distilled",
        default=False,
        help_text="On: by the clock, what its conversations came to becomes part of its memory, without anybody's words.",
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
    distil_endpoint_mid = _endpoint("endpoint of the mid tier", "model of the mid tier")
    distil_endpoint_long = _endpoint("endpoint of the long tier", "model of the long tier")

    class Meta:
        abstract = True
