"""A tenant's own model prices."""

from collections.abc import Mapping
from datetime import datetime

from django.conf import settings

from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import acting_as
from apps.llm.prices import Price, TokenRates, price_of
from apps.tenants.models import Agent, ModelPrice


def price_of_agent(agent: Agent, rates: Mapping[str, TokenRates]) -> Price | None:
    """Return the price of the agent's model: the tenant's own if `rates` has one; None if it has no price."""
    return price_of(agent.model or settings.DEFAULT_MODEL, rates)


def tenant_rates(actor: Actor, now: datetime) -> dict[str, TokenRates]:
    """Return the tenant's prices that are currently valid, by model."""
    with acting_as(actor):
        rows = ModelPrice.objects.visible_to(actor).filter(valid_from__lte=now)
        return {
            row.model: TokenRates.of_micro_usd(
                row.input_micro_usd,
                row.output_micro_usd,
                row.cache_read_micro_usd,
                row.cache_write_5m_micro_usd,
                row.cache_write_1h_micro_usd,
            )
            for row in rows.order_by("model", "-valid_from").distinct("model")
        }
