"""What a look of the learning used of a model, as its journal keeps it."""

from typing import TypedDict

from django.utils import timezone

from apps.governance.actors import Actor
from apps.llm.model_backend import Reply
from apps.llm.prices import priced
from apps.tenants.endpoints.price_overrides import own_rates


class Used(TypedDict):
    """The columns that every journal of the learning has."""

    model: str
    is_stand_in: bool
    input_tokens: int
    output_tokens: int
    cost_micro_usd: int | None


def used(reply: Reply | None, *, actor: Actor) -> Used:
    """What the answer used: `cost_micro_usd` is None of the stand-in and of a model without a price, and 0 where none was asked."""
    if reply is None:
        return {"model": "", "is_stand_in": False, "input_tokens": 0, "output_tokens": 0, "cost_micro_usd": 0}
    return {
        "model": reply.model,
        "is_stand_in": reply.is_stand_in,
        "input_tokens": reply.usage.prompt_tokens,
        "output_tokens": reply.usage.output_tokens,
        "cost_micro_usd": priced(reply, own_rates(actor, timezone.now())),
    }
