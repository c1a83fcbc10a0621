"""Estimates what it costs to end open sessions: their next turns write new prompts to the cache."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from django.conf import settings
from django.db import connection

from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import acting_as
from apps.governance.database.sql_files import load_query
from apps.llm.token_estimate import tokens_in_bytes
from apps.tenants.endpoints.price_overrides import price_of_agent, tenant_rates
from apps.tenants.models import Agent

# The most sessions that are counted, the latest first.
MAX_SESSIONS: Final = 10_000

_MEASURE_OPEN_SESSIONS: Final = load_query("apps/runtime/explain/queries/measure_open_sessions.sql")


@dataclass(frozen=True, slots=True)
class SessionEndingCost:
    """The open sessions that would end, and at most what their new prompts cost the cache, in tokens and micro-dollars.

    `micro_usd` is None if a model has no price.
    """

    sessions: int
    tokens: int
    micro_usd: int | None


def cost_of_ending(agents: Sequence[Agent], *, actor: Actor, now: datetime) -> SessionEndingCost:
    """Estimate the cost of ending the open sessions of these agents. A prompt that did not change costs less: it may be cached."""
    by_id = {agent.pk: agent for agent in agents}
    idle = settings.AGENT_SESSION_IDLE_SECONDS
    with acting_as(actor), connection.cursor() as cursor:
        cursor.execute(_MEASURE_OPEN_SESSIONS, {"agents": sorted(by_id), "idle_seconds": idle, "most": MAX_SESSIONS})
        measured = cursor.fetchall()
        rates = tenant_rates(actor, now)
    tokens = [tokens_in_bytes(size) for _, _, size in measured]
    prices = [price_of_agent(by_id[agent_id], rates) for agent_id, _, _ in measured]
    # A rate in dollars per million tokens equals micro-dollars per token.
    costs = [round(count * price.rates.cache_write_5m) for count, price in zip(tokens, prices, strict=True) if price]
    return SessionEndingCost(
        sum(count for _, count, _ in measured), sum(tokens), sum(costs) if len(costs) == len(prices) else None
    )
