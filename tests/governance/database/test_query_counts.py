"""A list of many rows costs as many statements as one of a few: every address and every page that lists something."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import psycopg
import pytest
from django.apps import apps
from django.contrib.contenttypes.models import ContentType
from django.db import connection, reset_queries
from django.test import Client
from django.test.utils import CaptureQueriesContext
from pytest_django import Settings

from apps.api.urls import router
from apps.console.site import site
from apps.conversations.models import Message
from apps.launcher.postgres import Postgres
from apps.tenants.models.grants import RoleGrants
from tests.governance.isolation.test_isolation_over_rest import description, operations
from tests.governance.not_found_comparison import row_of
from tests.governance.row_multiplication import RowMultiplier
from tests.support.drivers.console_client import list_of, signed_in
from tests.support.parameter_sampling import whole_or
from tests.support.servers.standin_model import StandIn
from tests.support.worlds.filled_world import Filled, fill_world
from tests.support.worlds.world import make_member

pytestmark = pytest.mark.kernel

FEW, MANY = whole_or((5, 30), whole=(10, 100))
# What was done already filled some lists with more than many rows: they grow, too.
MORE, PAGE_SIZE = MANY // 10, 100
# Of the console's lists, whoever asks included: transactions and the settings that say who asks read nothing.
MOST_READS = 12
CONTROL_STATEMENTS = ("BEGIN", "COMMIT", "SAVEPOINT", "RELEASE", "ROLLBACK", "SELECT set_config")
# Where something of one row is listed: test_versions.py and test_attachments.py of tests/surfaces/api count it, and
# test_carried.py of tests/surfaces/console.
# tests/api/protocol/test_search.py counts what is found by words.
BY_WORDS = "/api/v1/search/"
# And this one never has more than one.
ONE_ROW = "/api/v1/settings/"
# A member's own, of whom a crowd has one each: tests/api/resources/conversations/test_member_talks.py counts them.
OWN_ROW_PATHS = {"/api/v1/talks/", "/api/v1/trials/", "/api/v1/member-overlays/"}
# A role has one row.
ONE_PER_ROLE = {"/api/v1/role-grants/", list_of(RoleGrants)}
ROW_SUBPATHS = {"versions", "attachments", "carried"}


@dataclass(frozen=True)
class ListCost:
    """What a list cost."""

    rows: int
    queries: int
    about_grants: int
    reads: int


OPERATOR, LIMITED, AGENT = "operator", "operator with limits", "agent"
Ask = Callable[[], Any]  # Any: the test client's response
ListAddress = tuple[str, str]


def lists_of(filled: Filled) -> Iterator[tuple[ListAddress, Ask]]:
    """Everything that lists something, by everybody who may ask for it."""
    world = filled.world
    # Whoever has limits is asked all that the others are, and them besides.
    people = {LIMITED: world.operator_user} | whole_or({}, whole={OPERATOR: make_member(world).user})
    clients = {name: signed_in(user) for name, user in people.items()}
    for model, page in site._registry.items():
        if not page.has_one_row:
            for name, client in clients.items():
                yield (name, list_of(model)), partial(client.get, list_of(model), {"tab": "all", "all": ""})
    clients[AGENT] = Client(headers={"Authorization": f"Bearer {world.token}"})
    for method, path, operation in operations():
        if (
            method == "GET"
            and "{" not in path
            and path not in {BY_WORDS, ONE_ROW, *OWN_ROW_PATHS}
            and is_list(operation)
        ):
            for name, client in clients.items():
                yield (name, path), partial(client.get, path, {"page_size": PAGE_SIZE} | required_query(path, filled))


def required_query(path: str, filled: Filled) -> dict[str, int]:
    """What a list cannot be asked for without."""
    return {"conversation_id": row_of(Message, filled.world).conversation_id} if "/messages" in path else {}


def measure_list(ask: Ask) -> ListCost:
    """How many rows are shown, or none to whom they are not open, and after how many statements."""
    reset_queries()
    with CaptureQueriesContext(connection) as captured:
        answer = ask()
    about_grants = sum("objectpermission" in query["sql"] for query in captured)
    reads = sum(not query["sql"].startswith(CONTROL_STATEMENTS) for query in captured)
    if answer.status_code == 403:
        return ListCost(0, len(captured), about_grants, reads)
    assert answer.status_code == 200, answer.content[:300]
    is_json = answer["Content-Type"].startswith("application/json")
    shown = answer.json()["results"] if is_json else answer.context_data["cl"].result_list
    return ListCost(len(shown), len(captured), about_grants, reads)


@pytest.mark.slow
@pytest.mark.whole
@pytest.mark.unmeasured
def test_a_list_of_many_rows_costs_what_one_of_a_few_does(
    committing: str, postgres: Postgres, standin: StandIn, settings: Settings
) -> None:
    # R012, R017: its grants included, which one statement resolves.
    settings.WHITENOISE_AUTOREFRESH = True
    filled = fill_world(standin.backend)
    asked = dict(lists_of(filled))
    with psycopg.connect(postgres.url_for("postgres", database=committing), autocommit=True) as superuser:
        crowd = RowMultiplier(superuser, filled.world.tenant.pk)
        crowd.grow(FEW)
        # Whoever asks first would fill Django's cache of them.
        ContentType.objects.get_for_models(*apps.get_models(), for_concrete_models=False)
        few = {each: measure_list(ask) for each, ask in asked.items()}
        crowd.grow(MANY, MORE)
        many = {each: measure_list(ask) for each, ask in asked.items()}
    assert {each: found.queries for each, found in many.items()} == {each: found.queries for each, found in few.items()}
    # A token is looked up together with its agent's grants.
    about_grants = {(who == AGENT, found.about_grants) for each in (few, many) for (who, _), found in each.items()}
    assert about_grants == {(True, 0), (False, 1)}
    many_reads = {each: found.reads for each, found in many.items() if each[1].startswith("/admin/")}
    assert {each: reads for each, reads in many_reads.items() if reads > MOST_READS} == {}
    grown = {each for each in asked if few[each].rows < many[each].rows >= min(few[each].rows + MORE, MANY)}
    assert {each for each in asked if each[0] != AGENT and each[1] not in ONE_PER_ROLE} <= grown
    assert len({each for each in grown if each[0] == AGENT}) >= 3


@pytest.mark.slow
def test_every_address_and_page_that_lists_is_counted() -> None:
    listing = {path for method, path, operation in operations() if method == "GET" and is_list(operation)}
    assert {path.removeprefix("/api/v1/").strip("/") for path in listing - {BY_WORDS} if "{" not in path} == {
        prefix for prefix, _, _ in router.registry
    }
    assert {path.strip("/").rpartition("/")[2] for path in listing if "{" in path} - {"{id}"} == ROW_SUBPATHS
    assert {model.__name__ for model, page in site._registry.items() if page.has_one_row} == {"TenantSettings"}


def is_list(operation: dict[str, Any]) -> bool:
    """Whether the answer holds rows, as the description has it."""
    content: dict[str, Any] = next(iter(operation["responses"].get("200", {}).get("content", {}).values()), {})
    name = content.get("schema", {}).get("$ref", "").rpartition("/")[2]
    properties = description()["components"]["schemas"].get(name, {}).get("properties", {})
    return any(name in properties for name in ("results", "attachments"))
