"""What an agent's page says about learning from its own work."""

from django.db import models


class Taught(models.Model):
    """Whether its days are read, whether it notes things, and whether it is shown how others' drafts were corrected."""

    has_reflection = models.BooleanField(
        "reflects on its day",
        default=False,
        help_text="On: at 23:00 by the tenant's clock the day's conversations are read together. What they teach waits as drafts.",
    )
    has_notebook = models.BooleanField(
        "keeps a notebook",
        default=False,
        help_text="On: it notes reminders, tasks and scratch for later, and its sessions are told of those that are open.",
    )
    has_examples = models.BooleanField(
        "is shown examples",
        default=False,
        help_text="On: with a customer of few corrections, up to three that people kept as examples, without anybody's data.",
    )

    class Meta:
        abstract = True
