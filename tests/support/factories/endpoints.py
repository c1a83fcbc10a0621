"""Lawful data of model endpoints and prices, made by the product's own acts."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from itertools import count
from typing import Any

from django.urls import reverse

from apps.governance.actors import Actor
from apps.governance.policy.policy_table import Act
from apps.tenants.endpoints.actions import (
    amend_endpoint,
    create_endpoint,
    remove_endpoint,
    rotate_endpoint_key,
    set_price,
    withdraw_price,
)
from apps.tenants.endpoints.endpoint_access import endpoint_to_test
from apps.tenants.models import Endpoint, ModelPrice
from tests.support.worlds.world import World

_numbers = count(1)
RATES = {
    "input_micro_usd": 1_000_000,
    "output_micro_usd": 5_000_000,
    "cache_read_micro_usd": 100_000,
    "cache_write_5m_micro_usd": 1_250_000,
    "cache_write_1h_micro_usd": 2_000_000,
}
SINCE = datetime(2026, 1, 1, tzinfo=UTC)
ADDRESS = "https://models.example"


def make_endpoint(world: World, base_url: str = ADDRESS, api_key: str = "sk-secret-1234") -> Endpoint:
    """Make an endpoint of the tenant; no agent uses it yet."""
    key = f"house-{next(_numbers)}"
    return create_endpoint(key, "The house's models", base_url, actor=world.admin, api_key=api_key)


def make_price(world: World, model: str = "", **rates: int) -> ModelPrice:
    """Set the price of a model for the tenant."""
    return set_price(model or f"house-model-{next(_numbers)}", SINCE, RATES | rates, actor=world.admin)


ENDPOINT_SUBJECTS: Mapping[Act, Callable[[World], Any]] = {
    Act.ENDPOINT_AMEND: make_endpoint,
    Act.ENDPOINT_ROTATE_KEY: make_endpoint,
    Act.ENDPOINT_REMOVE: make_endpoint,
    Act.ENDPOINT_TEST: lambda world: make_endpoint(world, "https://models.invalid"),
    Act.PRICE_WITHDRAW: make_price,
}
# Each takes the scene, the row and, for actions, the actor.
ENDPOINT_ACTS: Mapping[Act, Callable[[Any, Any, Actor], object]] = {
    Act.ENDPOINT_CREATE: lambda _, __, actor: create_endpoint("mine", "Mine", ADDRESS, actor=actor, api_key="k"),
    Act.ENDPOINT_AMEND: lambda _, row, actor: amend_endpoint(row, actor=actor, title="New."),
    Act.ENDPOINT_ROTATE_KEY: lambda _, row, actor: rotate_endpoint_key(row, actor=actor, api_key="sk-new"),
    Act.ENDPOINT_TEST: lambda _, row, actor: endpoint_to_test(row.pk, actor=actor),
    Act.ENDPOINT_REMOVE: lambda _, row, actor: remove_endpoint(row, actor=actor),
    Act.PRICE_SET: lambda _, __, actor: set_price("house-*", SINCE, RATES, actor=actor),
    Act.PRICE_WITHDRAW: lambda _, row, actor: withdraw_price(row, actor=actor),
}
ENDPOINT_REQUESTS: Mapping[Act, Callable[[Any, Any], tuple[str, str, dict[str, object] | None]]] = {
    Act.ENDPOINT_CREATE: lambda _, __: ("POST", "endpoints", {"key": "mine", "title": "Mine", "base_url": ADDRESS}),
    Act.ENDPOINT_AMEND: lambda _, row: ("PATCH", f"endpoints/{row.pk}", {"title": "New."}),
    Act.ENDPOINT_ROTATE_KEY: lambda _, row: ("POST", f"endpoints/{row.pk}/rotate-key", {"api_key": "sk-new"}),
    Act.ENDPOINT_TEST: lambda _, row: ("POST", f"endpoints/{row.pk}/test", {}),
    Act.ENDPOINT_REMOVE: lambda _, row: ("DELETE", f"endpoints/{row.pk}", None),
    Act.PRICE_SET: lambda _, __: (
        "POST",
        "prices",
        {"model": "house-*", "valid_from": "2026-01-01T00:00:00Z", **RATES},
    ),
    Act.PRICE_WITHDRAW: lambda _, row: ("DELETE", f"prices/{row.pk}", None),
}


def _decide_url(row: Any, button: str) -> str:
    return reverse(f"admin:{row._meta.label_lower.replace('.', '_')}_decide", args=[row.pk, button])


def _price_form(_: Any, __: Any) -> tuple[str, dict[str, Any]]:
    typed = {"model": "house-*", "valid_from_0": "2026-01-01", "valid_from_1": "00:00:00", **RATES}
    return reverse("admin:tenants_modelprice_add"), typed


ENDPOINT_FORMS: Mapping[Act, Callable[[Any, Any], tuple[str, dict[str, Any]]]] = {
    Act.ENDPOINT_CREATE: lambda _, __: (
        reverse("admin:tenants_endpoint_add"),
        {"key": "mine", "title": "Mine", "base_url": ADDRESS},
    ),
    Act.ENDPOINT_AMEND: lambda _, row: (
        reverse("admin:tenants_endpoint_change", args=[row.pk]),
        {"title": "New.", "base_url": row.base_url},
    ),
    Act.ENDPOINT_ROTATE_KEY: lambda _, row: (_decide_url(row, "key"), {"api_key": "sk-new"}),
    Act.ENDPOINT_TEST: lambda _, row: (reverse("admin:try_endpoint", args=[row.pk]), {"model": "house-1"}),
    Act.ENDPOINT_REMOVE: lambda _, row: (_decide_url(row, "remove"), {}),
    Act.PRICE_SET: _price_form,
    Act.PRICE_WITHDRAW: lambda _, row: (_decide_url(row, "withdraw"), {}),
}
