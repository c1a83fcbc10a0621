"""Asking twice, for another tenant's row and for one that is nowhere, and comparing all that could tell them apart."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from difflib import unified_diff
from typing import Any

from django.apps import apps
from django.db import connection, reset_queries, transaction
from django.db.models import Model
from django.test.utils import CaptureQueriesContext

from apps.governance.database.actor_transaction import acting_as
from tests.support.database.catalog import tenant_tables
from tests.support.worlds.world import World

UNKNOWN_ID = 987_654_321
# Words of one answer alone: against forged forms, and for the scripts that it names.
_PER_RESPONSE_TEXT = re.compile(r'name="csrfmiddlewaretoken" value="[^"]*"|window\.__csrf[^;]*|nonce="[^"]*"')

_TABLE_FINGERPRINT = (
    "SELECT '{table}', count(*), md5(string_agg(row::text, '' ORDER BY id)) FROM {table} AS row"  # the catalog's names
)


@dataclass(frozen=True)
class ComparedResponse:
    """What somebody who asked can see of an answer, without what they asked for."""

    status: int
    location: str
    text: str
    queries: int

    def differs_from(self, other: "ComparedResponse") -> str:
        """What tells the two apart, in words for whoever reads a failing test; nothing where nothing does."""
        if self == other:
            return ""
        lines = list(
            unified_diff(other.text.splitlines(), self.text.splitlines(), "nowhere", "there", lineterm="", n=0)
        )
        mine, theirs = (f"{each.status} {each.location} after {each.queries} queries" for each in (self, other))
        return "\n".join([f"there: {mine}, nowhere: {theirs}", *lines[:20]])

    @property
    def refused(self) -> bool:
        """Nothing was shown or done."""
        return self.status >= 300


def compare_responses(
    ask: Callable[[Any], Any], theirs: object, nothing: object
) -> tuple[ComparedResponse, ComparedResponse]:
    """What is seen of another tenant's word and of a word that is nobody's, both words left out of both answers."""
    # In an address within an address the equals sign is %3D.
    words = re.compile("|".join(rf"(?:(?<!\w)|(?<=%3D)){re.escape(str(word))}(?!\w)" for word in (theirs, nothing)))
    there, nowhere = _request_and_undo(ask, theirs, words), _request_and_undo(ask, nothing, words)
    if there.queries != nowhere.queries:
        # Whoever asks first fills Django's cache of content types.
        there = _request_and_undo(ask, theirs, words)
    return there, nowhere


def _request_and_undo(ask: Callable[[Any], Any], word: object, words: re.Pattern[str]) -> ComparedResponse:
    """Ask, and undo what it did."""
    reset_queries()
    with transaction.atomic():
        with CaptureQueriesContext(connection) as captured:
            answer = ask(word)
        transaction.set_rollback(True)
    location = words.sub("*", answer.headers.get("Location", ""))
    return ComparedResponse(
        answer.status_code, location, words.sub("*", _PER_RESPONSE_TEXT.sub("", answer.content.decode())), len(captured)
    )


def table_fingerprints(world: World) -> dict[str, object]:
    """A print of every table as the tenant's own people and workers see it: equal before and after, nothing was touched."""
    found: dict[str, object] = {}
    for name, actor in (("operator", world.operator), ("worker", world.system)):
        with connection.cursor() as cursor, acting_as(actor):
            cursor.execute(
                "SELECT name FROM unnest(%s::text[]) AS name WHERE has_table_privilege(name, 'SELECT')",
                [[table.name for table in tenant_tables()]],
            )
            cursor.execute(" UNION ALL ".join(_TABLE_FINGERPRINT.format(table=table) for (table,) in cursor.fetchall()))
            found |= {f"{table} of {name}": tuple(fingerprint) for table, *fingerprint in cursor.fetchall()}
    return found


def row_of(model: type[Model], world: World) -> Any:  # Any: a row of any noun
    """The tenant's first row of a noun, which the filled world has of every noun."""
    with acting_as(world.operator):
        row = model._default_manager.filter(tenant_id=world.tenant.pk).order_by("pk").first()
    assert row is not None, f"the filled world has no {model.__name__}"
    return row


def nouns() -> list[type[Model]]:
    """Every model of tenants' rows."""
    return [model for model in apps.get_models() if any(field.name == "tenant" for field in model._meta.fields)]
