"""Prices for the demo's agents: no price list contains the stand-in, and without costs several pages would be half empty."""

from dataclasses import asdict
from decimal import Decimal
from typing import Final

from django.conf import settings
from django.utils import timezone

from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import acting_as
from apps.llm.prices import TokenRates, price_of
from apps.tenants.endpoints.actions import set_price
from apps.tenants.models import Agent, ModelPrice

PRICE_REASON: Final = (
    "Example prices of the demo, so that the stand-in's calls cost something. Nobody is billed by them."
)
# For a model that the product's price list does not contain.
DEFAULT_RATES: Final = TokenRates(Decimal(2), Decimal(10), Decimal("0.2"), Decimal("2.5"), Decimal(4))
MODEL_FIELDS: Final = ("model", "fallback_model", "distil_model_mid", "distil_model_long")


def set_example_prices(admin: Actor) -> None:
    """Set a price for each model of the tenant's agents, unless the tenant already has a price."""
    with acting_as(admin):
        if ModelPrice.objects.visible_to(admin).exists():
            return
        chosen = Agent.objects.visible_to(admin).values_list(*MODEL_FIELDS)
        models = {settings.DEFAULT_MODEL, *(model for each in chosen for model in each if model)}
        for model in sorted(models):
            set_price(model, timezone.now(), _price_columns(model), actor=admin, reason=PRICE_REASON)


def _price_columns(model: str) -> dict[str, int]:
    listed = price_of(model)
    rates = listed.rates if listed else DEFAULT_RATES
    return {f"{name}_micro_usd": int(price * 1_000_000) for name, price in asdict(rates).items()}
