"""What a day costs: a counter beside the books, written in their statements."""

from typing import ClassVar

from django.db import models


class Spend(models.Model):
    """What an agent's model calls of one day used, by the tenant's clock, counted in the statements that write the calls (R166).

    `cost_micro_usd` is that of turns and knows nothing of `unpriced_calls`; what looks of the learning used stands beside it, with
    prompts as one count of tokens. `budget_escalated_at` is when a person was asked, as the tenant's budget of the day was spent.
    """

    tenant = models.ForeignKey("tenants.Tenant", on_delete=models.PROTECT, related_name="+")
    agent = models.ForeignKey("tenants.Agent", on_delete=models.PROTECT, related_name="+")
    day = models.DateField()
    calls = models.PositiveIntegerField(default=0)
    unpriced_calls = models.PositiveIntegerField(default=0)
    cost_micro_usd = models.PositiveBigIntegerField(default=0)
    input_tokens = models.PositiveBigIntegerField(default=0)
    output_tokens = models.PositiveBigIntegerField(default=0)
    cache_read_tokens = models.PositiveBigIntegerField(default=0)
    cache_write_5m_tokens = models.PositiveBigIntegerField(default=0)
    cache_write_1h_tokens = models.PositiveBigIntegerField(default=0)
    learning_calls = models.PositiveIntegerField(db_default=0)
    learning_unpriced_calls = models.PositiveIntegerField(db_default=0)
    learning_cost_micro_usd = models.PositiveBigIntegerField(db_default=0)
    learning_input_tokens = models.PositiveBigIntegerField(db_default=0)
    learning_output_tokens = models.PositiveBigIntegerField(db_default=0)
    budget_escalated_at = models.DateTimeField(null=True)

    class Meta:
        ordering: ClassVar = ["-day", "agent_id"]
        verbose_name = "spend of a day"
        verbose_name_plural = "spend"
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["tenant", "agent", "day"], name="agent_has_one_count_a_day"),
        ]

    def __str__(self) -> str:
        return f"{self.day}"

    @property
    def all_calls(self) -> int:
        """Of turns and of the learning."""
        return self.calls + self.learning_calls

    @property
    def all_cost_micro_usd(self) -> int:
        """Of turns and of the learning: what the day's budget is held against."""
        return self.cost_micro_usd + self.learning_cost_micro_usd
