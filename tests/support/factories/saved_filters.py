"""Saved filters of the inbox."""

from apps.governance.actors import Actor
from apps.review.models import SavedFilter
from apps.review.saved_filters import save_filter
from tests.support.worlds.world import World

HIGH_RISK_QUERY = "risk__exact=high"


def make_filter(
    world: World,
    name: str = "High tier",
    *,
    query: str = HIGH_RISK_QUERY,
    is_shared: bool = True,
    actor: Actor | None = None,
) -> SavedFilter:
    """Make a shared filter, saved by the operator unless another actor is named."""
    return save_filter(actor=actor or world.operator, name=name, query=query, is_shared=is_shared)
