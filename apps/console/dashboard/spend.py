"""Cost of model calls by agent and day, beside the budgets."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.urls import reverse

from apps.console.dashboard.daily_counts import DailyCounts, DayRange
from apps.console.framework.governed_admin import GovernedAdmin
from apps.console.framework.list_columns import day_column
from apps.console.framework.page_actions import PanelReader
from apps.console.framework.request_context import actor_of
from apps.console.framework.token_usage import TokenUsage, dollars
from apps.governance.actors import Actor
from apps.runtime.models import Spend
from apps.tenants.models import TenantSettings


@dataclass(frozen=True, slots=True)
class SpendDay:
    """The spend of a tenant's agents on one day, and the budget."""

    rows: Sequence[Spend]
    budget_micro_usd: int | None

    @property
    def cost_micro_usd(self) -> int:
        return sum(row.all_cost_micro_usd for row in self.rows)

    @property
    def cost(self) -> str:
        return dollars(self.cost_micro_usd)

    @property
    def budget(self) -> str:
        return "no budget" if self.budget_micro_usd is None else dollars(self.budget_micro_usd)

    @property
    def is_spent(self) -> bool:
        """Whether the budget is spent, so that customers' messages wait for the next day."""
        return self.budget_micro_usd is not None and self.cost_micro_usd >= self.budget_micro_usd

    @property
    def is_tight(self) -> bool:
        """Whether learning waits, so that the rest of the budget (20 %) is left for customers."""
        return self.budget_micro_usd is not None and self.cost_micro_usd >= self.budget_micro_usd * 4 // 5


@dataclass(frozen=True, slots=True)
class PeriodSpend:
    """The cost of some days, beside their budget."""

    days: int
    cost_micro_usd: int
    calls: int
    budget_micro_usd: int | None
    url: str

    @property
    def cost(self) -> str:
        return dollars(self.cost_micro_usd)

    @property
    def budget(self) -> str:
        return "no budget" if self.budget_micro_usd is None else f"of {dollars(self.budget_micro_usd)}"


def period_spend(found: DailyCounts, stretch: DayRange, count: int, settings: TenantSettings) -> PeriodSpend:
    """Return the cost of the latest days of a range, today included, in the tenant's time zone."""
    days, budget = stretch.days[-count:], settings.day_budget_micro_usd
    cost, calls = (sum(each.get(day, 0) for day in days) for each in (found.part("cost"), found.whole("cost")))
    url = f"{reverse('admin:runtime_spend_changelist')}?day__gte={days[0]}"
    return PeriodSpend(count, cost, calls, None if budget is None else count * budget, url)


def spend_day(spend: Spend, actor: Actor) -> SpendDay:
    """The day of one agent's row, with all agents of the tenant."""
    rows = Spend.objects.filter(tenant_id=actor.tenant_id, day=spend.day).select_related("agent").order_by("agent__key")
    budgets = TenantSettings.objects.visible_to(actor).values_list("day_budget_micro_usd", flat=True)
    return SpendDay(list(rows), budgets.first())


def usage_of(spend: Spend) -> TokenUsage:
    """Return the row as token usage."""
    return TokenUsage(
        calls=spend.calls,
        fresh_tokens=spend.input_tokens,
        cache_read_tokens=spend.cache_read_tokens,
        cache_write_tokens=spend.cache_write_5m_tokens + spend.cache_write_1h_tokens,
        output_tokens=spend.output_tokens,
        cost_micro_usd=spend.cost_micro_usd,
        unpriced=spend.unpriced_calls,
    )


def learning_usage(spend: Spend) -> TokenUsage:
    """Return the token usage of learning, whose calls are too rare for the prompt cache."""
    return TokenUsage(
        calls=spend.learning_calls,
        fresh_tokens=spend.learning_input_tokens,
        output_tokens=spend.learning_output_tokens,
        cost_micro_usd=spend.learning_cost_micro_usd,
        unpriced=spend.learning_unpriced_calls,
    )


def spend_panels(spend: Any, request: HttpRequest) -> dict[str, Any]:
    """Return the day of this agent, and of the tenant."""
    turn_budget = spend.agent.turn_budget_micro_usd
    return {
        "usage": usage_of(spend),
        "learning": learning_usage(spend),
        "day": spend_day(spend, actor_of(request)),
        "turn_budget": "no budget" if turn_budget is None else dollars(turn_budget),
    }


class SpendAdmin(GovernedAdmin):
    """Read-only: the rows are counted together with the model calls."""

    list_display = ("on_day", "agent", "asked", "prompts", "cached", "answers", "cost", "learning")
    list_filter = ("agent",)
    list_select_related = ("agent",)
    empty = "Nothing was spent yet. The first call of a model begins the count."
    fields = ()
    change_form_template = "console/dashboard/spend.html"
    panels = PanelReader(spend_panels)

    on_day = day_column("Day", "day")

    @admin.display(description="Calls", ordering="calls")
    def asked(self, spend: Spend) -> str:
        return f"{spend.calls:,}"

    @admin.display(description="Prompt tokens")
    def prompts(self, spend: Spend) -> str:
        return f"{usage_of(spend).prompt_tokens:,}"

    @admin.display(description="of these cached")
    def cached(self, spend: Spend) -> str:
        percent = usage_of(spend).cached_percent
        return "none" if percent is None else f"{percent} %"

    @admin.display(description="Answer tokens", ordering="output_tokens")
    def answers(self, spend: Spend) -> str:
        return f"{spend.output_tokens:,}"

    @admin.display(description="Cost", ordering="cost_micro_usd")
    def cost(self, spend: Spend) -> str:
        return usage_of(spend).cost

    @admin.display(description="of learning", ordering="learning_cost_micro_usd")
    def learning(self, spend: Spend) -> str:
        return learning_usage(spend).cost if spend.learning_calls else "nothing"
