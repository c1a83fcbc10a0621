"""Every statement that runs in one round trip is one that PostgreSQL can plan before it knows the values."""

import pkgutil
import re
from collections.abc import Iterator, Mapping
from importlib import import_module
from types import ModuleType

import pytest
from django.db import ProgrammingError, connection, transaction

import apps
from apps.governance.database.actor_transaction import execute_as
from apps.governance.database.prepared_statements import prepare_statement

pytestmark = pytest.mark.kernel

STATEMENT = re.compile(r"\s*(WITH|SELECT|INSERT|UPDATE|DELETE)\b")
MODULES = [each.name for each in pkgutil.walk_packages(apps.__path__, "apps.") if ".migrations" not in each.name]


def modules() -> Iterator[ModuleType]:
    """Those that run statements so."""
    for name in MODULES:
        if "__main__" not in name and getattr(module := import_module(name), "execute_as", None) is execute_as:
            yield module


def statements() -> dict[str, str]:
    """By where each stands."""
    found: dict[str, str] = {}
    for module in modules():
        for name, value in vars(module).items():
            texts = value if isinstance(value, Mapping) else {"": value}
            for key, text in texts.items():
                if isinstance(text, str) and STATEMENT.match(text) and text not in found.values():
                    found[f"{module.__name__}.{name} {key}".strip()] = text
    return found


@pytest.mark.django_db
def test_every_statement_of_one_round_trip_can_be_planned_without_its_values() -> None:
    found, refused = statements(), {}
    for name, text in found.items():
        try:
            with transaction.atomic(), connection.cursor() as cursor:
                cursor.execute(prepare_statement(text).plan.replace("%%", "%"))
        except ProgrammingError as flaw:
            refused[name] = str(flaw)
    assert refused == {}
    assert len(found) > 25
    assert {
        "apps.runtime.webhook_delivery.delivery_lease.RECORD_ATTEMPT",
        "apps.runtime.turn_store.turn_claim.CLAIM",
    } <= found.keys()
