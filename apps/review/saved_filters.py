"""The one writer of saved filters.

No change record: by what somebody reads the inbox changes nothing that agents or customers meet, and a search may name a
customer, which is then gone with the filter.
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

ONLY_MEMBERS_SAVE: Final = "Only members of the tenant save filters. Platform staff uses those that are shared."
_CONFLICT_MESSAGES: Final[Mapping[str | None, str]] = {
    "person_names_a_filter_once": "You have a filter of that name. Choose another name, or delete the old one first.",
}
_SAVED_CONCURRENTLY: Final = "You saved another filter this very moment. Try again."


def save_filter(*, actor: Actor, name: str, query: str, is_shared: bool) -> SavedFilter:
    """Keep what the inbox is narrowed to for whoever acts, and where it is shared for every member of the tenant."""
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
    """Take a filter away for good. Whoever had it on their page reads on by another."""
    if not may_be_deleted_by(saved, actor):
        raise NotPermitted(ONLY_MAKER_DELETES)
    with acting_as(actor):
        SavedFilter.objects.visible_to(actor).filter(pk=saved.pk).delete()


def may_be_deleted_by(saved: SavedFilter, actor: Actor) -> bool:
    """Whether this person may take it away."""
    return actor.role in PEOPLE and may_delete_filter(
        is_own=saved.user_id == actor.user_id, is_shared=saved.is_shared, is_admin=actor.role is Role.ADMIN
    )


def _constraint_name(refusal: IntegrityError) -> str | None:
    cause = refusal.__cause__
    return cause.diag.constraint_name if isinstance(cause, psycopg.Error) else None
