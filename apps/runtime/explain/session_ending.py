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
from apps.llm.prices import price_of
from apps.llm.token_estimate import tokens_in_bytes
from apps.tenants.endpoints.price_overrides import tenant_rates
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
    sessions, tokens, dollars = 0, 0, 0
    is_priced = True
    for agent_id, count, size in measured:
        price = price_of(by_id[agent_id].model or settings.DEFAULT_MODEL, rates)
        sessions, tokens = sessions + count, tokens + tokens_in_bytes(size)
        is_priced = is_priced and price is not None
        # A rate in dollars per million tokens equals micro-dollars per token.
        dollars += round(tokens_in_bytes(size) * price.rates.cache_write_5m) if price else 0
    return SessionEndingCost(sessions, tokens, dollars if is_priced else None)
