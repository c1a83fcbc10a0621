"""Estimates the impact of a change before its approval: sessions and customers reached, prompt bytes, and prompt cache cost."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Final

from django.db import connection
from django.db.models import QuerySet, Sum

from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import acting_as
from apps.governance.database.sql_files import load_query
from apps.governance.models import Governed
from apps.governance.proposals.approval_rules import ProposedOutcome
from apps.llm.prices import Price
from apps.llm.token_estimate import BYTES_PER_TOKEN, tokens_in_bytes
from apps.memory.models import CustomerProfile
from apps.prompt.prompt_diff import PromptSizeDiff, diff_prompt_sizes
from apps.prompt.rendering.snapshot import render_snapshot
from apps.runtime.models import Spend
from apps.runtime.prompt_snapshot.prompt_input_builder import build_prompt_input
from apps.runtime.prompt_snapshot.proposed_rows import with_change
from apps.runtime.prompt_snapshot.source_rows import read_current_rows
from apps.skills.models import Skill
from apps.tenants.endpoints.price_overrides import price_of_agent, tenant_rates
from apps.tenants.models import Agent, TenantSettings

WINDOW_DAYS: Final = 30
# The most sessions that are counted, the latest first.
MAX_SESSIONS: Final = 10_000

_COUNT_REACH: Final = load_query("apps/runtime/explain/queries/count_reach.sql")


@dataclass(frozen=True, slots=True)
class ImpactCost:
    """Estimated cost in micro-dollars: of rewriting the cache once, and of the additional reads in a thousand conversations."""

    once: int
    per_thousand: int


@dataclass(frozen=True, slots=True)
class Impact:
    """The impact of a change. Counts cover the last thirty days, and at most the latest ten thousand sessions.

    `agent` is the agent whose prompt was compared: the busiest of the agents whose prompts contain the row. `short_of` is the
    number of tokens that slots 1-4 of the prompt are too short for its model to cache them. `cost` is None if the model has no
    price.
    """

    agents: int
    sessions: int
    customers: int
    schedules: int
    callers: int
    fetched: int | None
    agent: Agent | None
    prompt: PromptSizeDiff | None
    short_of: int
    cost: ImpactCost | None

    @property
    def is_at_the_limit(self) -> bool:
        """Whether the count stopped at its limit, so that the real number of sessions may be higher."""
        return self.sessions >= MAX_SESSIONS

    @property
    def sessions_a_day(self) -> float:
        """Sessions a day, on average over the last thirty days."""
        return round(self.sessions / WINDOW_DAYS, 1)


def impact_of(would: ProposedOutcome, *, actor: Actor, now: datetime) -> Impact:
    """Estimate the impact of a proposed change, as visible to the actor.

    The estimate needs three queries, the reads of one session and two renderings.
    """
    customer = would.row.end_user_key if isinstance(would.row, CustomerProfile) else ""
    with acting_as(actor):
        agents = list(_carrying_agents(would.row, actor))
        ids = [agent.pk for agent in agents]
        counted, calls = _count_reach(would.row, ids, now), _calls_by_agent(actor, ids, now)
    agent = max(agents, key=lambda each: (calls.get(each.pk, 0), -each.pk), default=None)
    prompt = _diff_prompt(agent, customer, would, actor, now) if agent else None
    price = price_of_agent(agent, tenant_rates(actor, now)) if agent else None
    short = max(price.minimum_prefix_tokens - tokens_in_bytes(prompt.shared), 0) if price and prompt else 0
    cost = (
        _cost(price, prompt, sum(calls.values()), counted.sessions, is_cached=not short) if price and prompt else None
    )
    return replace(counted, agent=agent, prompt=prompt, short_of=short, cost=cost)


def reach_of_row(row: Governed, *, actor: Actor, now: datetime) -> Impact:
    """The sessions and customers that a change of the row would reach. Prompts are not compared."""
    with acting_as(actor):
        return _count_reach(row, list(_carrying_agents(row, actor).values_list("pk", flat=True)), now)


def _count_reach(row: Governed, ids: list[int], now: datetime) -> Impact:
    customer = row.end_user_key if isinstance(row, CustomerProfile) else ""
    skill_id = row.pk if isinstance(row, Skill) else None
    sessions, customers, schedules, callers, fetched = _query_counts(ids, customer, skill_id, now)
    counts = (sessions, customers, schedules, callers, fetched if skill_id else None)
    return Impact(len(ids), *counts, None, None, 0, None)


def _carrying_agents(row: Governed, actor: Actor) -> QuerySet[Agent]:
    """The agents whose prompts contain the row: the row's own agent, or all agents if it has none."""
    agents = Agent.objects.visible_to(actor)
    if isinstance(row, Agent):
        return agents.filter(pk=row.pk)
    agent_id = None if isinstance(row, TenantSettings | CustomerProfile) else getattr(row, "agent_id", None)
    return agents if agent_id is None else agents.filter(pk=agent_id)


def _query_counts(ids: list[int], customer: str, skill_id: int | None, now: datetime) -> tuple[int, int, int, int, int]:
    given = {"agents": ids, "customer": customer, "skill": skill_id, "most": MAX_SESSIONS}
    with connection.cursor() as cursor:
        cursor.execute(_COUNT_REACH, given | {"since": now - timedelta(days=WINDOW_DAYS)})
        sessions, customers, schedules, callers, fetched = cursor.fetchall()[0]
    return sessions, customers, schedules, callers, fetched


def _calls_by_agent(actor: Actor, ids: list[int], now: datetime) -> dict[int, int]:
    """The number of each agent's model calls in the last thirty days, from the daily spend."""
    rows = Spend.objects.filter(
        tenant_id=actor.tenant_id, agent_id__in=ids, day__gt=(now - timedelta(days=WINDOW_DAYS)).date()
    )
    return dict(rows.order_by().values_list("agent_id").annotate(all=Sum("calls")))


def _diff_prompt(
    agent: Agent, customer: str, would: ProposedOutcome, actor: Actor, now: datetime
) -> PromptSizeDiff | None:
    if not agent.has_learning:
        return None
    rows = read_current_rows(agent, customer, actor=actor, system=actor)
    before, after = (
        render_snapshot(build_prompt_input(each, {}, {}, now)) for each in (rows, with_change(rows, would))
    )
    return diff_prompt_sizes(before, after)


def _cost(price: Price, prompt: PromptSizeDiff, calls: int, sessions: int, *, is_cached: bool) -> ImpactCost:
    """Estimate the cost. Shared slots are written once and then read with every call, unless they are too short to be cached.

    A rate in dollars per million tokens equals micro-dollars per token.
    """
    a_session = Decimal(calls) / sessions if sessions and calls else Decimal(1)
    more = Decimal(prompt.added) / BYTES_PER_TOKEN
    once = tokens_in_bytes(prompt.rewritten) * price.rates.cache_write_5m if is_cached else 0
    a_token = price.rates.cache_read if is_cached else price.rates.input
    return ImpactCost(round(once), round(more * a_session * 1000 * a_token))
