"""Actions on model endpoints and prices. A key can be written but is never returned; only its presence can be read."""

from collections.abc import Mapping
from datetime import datetime

from django.db.models import Q

from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import acting_as
from apps.governance.errors import Conflict, Invalid
from apps.governance.governed_write import assign_values, governed, governed_remove
from apps.governance.policy.policy_table import Act
from apps.outbound.ssrf import origin_of
from apps.tenants.models import Agent
from apps.tenants.models.endpoints import Endpoint, ModelPrice, SealedSecret
from apps.tenants.sealed_secrets import delete_secrets, store_secret

KEY_CHARACTERS = 500
# The number of agents that a refusal names.
AGENTS_NAMED = 5


def create_endpoint(key: str, title: str, base_url: str, *, actor: Actor, api_key: str = "") -> Endpoint:
    """Create an endpoint. No agent uses it until it is selected for the agent."""
    endpoint = Endpoint(tenant_id=actor.tenant_id, key=key, title=title, base_url=base_url)
    with governed(Act.ENDPOINT_CREATE, endpoint, actor=actor) as row:
        row.secret = _seal_api_key(api_key, actor)
    return endpoint


def amend_endpoint(endpoint: Endpoint, *, actor: Actor, read_at: int | None = None, **values: object) -> Endpoint:
    """Change the title or address; this takes effect with the next turn. If the server changes, the key is deleted."""
    forgotten: int | None = None
    with acting_as(actor):
        with governed(Act.ENDPOINT_AMEND, endpoint, actor=actor, read_at=read_at) as row:
            origin = origin_of(row.base_url)
            assign_values(row, Act.ENDPOINT_AMEND, values)
            if origin != origin_of(row.base_url):
                forgotten, row.secret = row.secret_id, None
        delete_secrets(forgotten, actor=actor)
    return endpoint


def rotate_endpoint_key(endpoint: Endpoint, *, actor: Actor, api_key: str, read_at: int | None = None) -> Endpoint:
    """Replace the key; an empty text removes it. Turns in progress keep the old key."""
    with acting_as(actor):
        with governed(Act.ENDPOINT_ROTATE_KEY, endpoint, actor=actor, read_at=read_at) as row:
            before, row.secret = row.secret_id, _seal_api_key(api_key, actor)
        delete_secrets(before, actor=actor)
    return endpoint


def remove_endpoint(endpoint: Endpoint, *, actor: Actor, read_at: int | None = None, reason: str = "") -> None:
    """Remove an endpoint and its key. Refused while an agent uses it. Turns in progress keep it until they end."""
    with acting_as(actor):
        with governed(Act.ENDPOINT_REMOVE, endpoint, actor=actor, read_at=read_at, reason=reason, removes=True) as row:
            here = Q(endpoint=row) | Q(distil_endpoint_mid=row) | Q(distil_endpoint_long=row)
            thinking = Agent.objects.visible_to(actor).filter(here).order_by("key")
            if keys := list(thinking.values_list("key", flat=True)[:AGENTS_NAMED]):
                raise Conflict(
                    f"Agents still use this endpoint, among them {', '.join(keys)}. Choose another endpoint for them first."
                )
            secret_id = row.secret_id
        delete_secrets(secret_id, actor=actor)


def set_price(
    model: str, valid_from: datetime, rates: Mapping[str, int], *, actor: Actor, reason: str = ""
) -> ModelPrice:
    """Set the price of a model from a given moment on. Earlier charges do not change."""
    price = ModelPrice(tenant_id=actor.tenant_id)
    with governed(Act.PRICE_SET, price, actor=actor, reason=reason) as row:
        assign_values(row, Act.PRICE_SET, {"model": model, "valid_from": valid_from, **rates})
    return price


def withdraw_price(price: ModelPrice, *, actor: Actor, read_at: int | None = None, reason: str = "") -> None:
    """Withdraw a price, so that the previous price or the product's price list applies again. Earlier charges do not change."""
    governed_remove(Act.PRICE_WITHDRAW, price, actor=actor, read_at=read_at, reason=reason)


def _seal_api_key(api_key: str, actor: Actor) -> SealedSecret | None:
    if not api_key:
        return None
    if len(api_key) > KEY_CHARACTERS or not api_key.isascii() or not api_key.isprintable() or " " in api_key:
        raise Invalid(
            f"This is not a valid key. A key has at most {KEY_CHARACTERS} visible ASCII characters without spaces.",
            {"api_key": ["Copy the key again."]},
        )
    return store_secret(api_key, actor=actor)
