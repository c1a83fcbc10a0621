"""What a turn has besides, where somebody else runs the agent that takes it."""

from django.db import models


class TakenElsewhere(models.Model):
    """`external_user_turn` is the user turn as it was handed out, with its owners, until the turn ends.

    `report_sha256` tells its report.
    """

    external_user_turn = models.JSONField(null=True)
    report_sha256 = models.CharField(max_length=64, blank=True, db_default="")

    class Meta:
        abstract = True
