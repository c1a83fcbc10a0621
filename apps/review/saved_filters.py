"""Actions that save and delete inbox filters. Only this module writes `SavedFilter`.

Filters have no change records: they change nothing for agents or customers. A search may also name a customer, and deleting the
filter must remove that name.
"""

from collections.abc import Mapping
from typing import Final

import psycopg
from django.db import IntegrityError

from apps.governance.actors import PEOPLE, Actor, Role
from apps.governance.database.actor_transaction import acting_as
from apps.governance.errors import Conflict, Invalid, NotPermitted
from apps.review.models import SavedFilter
from apps.review.rules import (
    ONLY_MAKER_DELETES,
    TOO_MANY_FILTERS,
    free_quota_slot,
    may_delete_filter,
    name_flaw,
    single_spaced,
)

ONLY_MEMBERS_SAVE: Final = "Only members of the tenant can save filters. As platform staff, use the shared ones."
_CONFLICT_MESSAGES: Final[Mapping[str | None, str]] = {
    "person_names_a_filter_once": "You already have a filter with this name. Choose another name, or delete the old one first.",
}
_SAVED_CONCURRENTLY: Final = "You saved another filter at the same moment. Try again."


def save_filter(*, actor: Actor, name: str, query: str, is_shared: bool) -> SavedFilter:
    """Save an inbox search for the acting person, or for every member of the tenant if `is_shared`."""
    if actor.role not in PEOPLE or actor.user_id is None:
        raise NotPermitted(ONLY_MEMBERS_SAVE)
    name = single_spaced(name)
    if flaw := name_flaw(name):
        raise Invalid(flaw, {"name": [flaw]})
    try:
        with acting_as(actor):
            place = free_quota_slot(set(SavedFilter.objects.own(actor).values_list("quota_slot", flat=True)))
            if place is None:
                raise Conflict(TOO_MANY_FILTERS)
            return SavedFilter.objects.create(
                tenant_id=actor.tenant_id,
                user_id=actor.user_id,
                quota_slot=place,
                name=name,
                query=query,
                is_shared=is_shared,
            )
    except IntegrityError as refusal:
        raise Conflict(_CONFLICT_MESSAGES.get(_constraint_name(refusal), _SAVED_CONCURRENTLY)) from refusal


def delete_filter(saved: SavedFilter, *, actor: Actor) -> None:
    """Delete a filter permanently. A page that uses it falls back to another filter."""
    if not may_be_deleted_by(saved, actor):
        raise NotPermitted(ONLY_MAKER_DELETES)
    with acting_as(actor):
        SavedFilter.objects.visible_to(actor).filter(pk=saved.pk).delete()


def may_be_deleted_by(saved: SavedFilter, actor: Actor) -> bool:
    """Whether the actor may delete the filter."""
    return actor.role in PEOPLE and may_delete_filter(
        is_own=saved.user_id == actor.user_id, is_shared=saved.is_shared, is_admin=actor.role is Role.ADMIN
    )


def _constraint_name(refusal: IntegrityError) -> str | None:
    cause = refusal.__cause__
    return cause.diag.constraint_name if isinstance(cause, psycopg.Error) else None
