"""Every address of the API, taken from its own description: another tenant's row is like one that is nowhere."""

import json
import logging
import re
from collections.abc import Iterator
from functools import cache, partial
from typing import Any

import pytest
from django.test import Client
from drf_spectacular.generators import SchemaGenerator

from apps.api.urls import router
from apps.conversations.models import InboundEvent, Message
from apps.runtime.models import Turn
from tests.governance.not_found_comparison import UNKNOWN_ID, compare_responses, row_of, table_fingerprints
from tests.support.parameter_sampling import share_of, whole_or
from tests.support.worlds.filled_world import Filled
from tests.support.worlds.world import World, make_world

# Walks what other tests already cover, thousands of times: measuring that would only make it slower.
pytestmark = [pytest.mark.django_db, pytest.mark.unmeasured, pytest.mark.usefixtures("beside_filled")]

JSON = "application/json"

Operation = tuple[str, str, dict[str, Any]]
VIEWS: list[Any] = list(router.registry)  # Any: the router's stubs know no queryset
MODELS: dict[str, Any] = {prefix: view.queryset.model for prefix, view, _ in VIEWS} | {
    "events": InboundEvent,
    "turns": Turn,
    "search": Message,
}
# Names that a tenant gives its rows: the victim's, of which the stranger's tenant has none.
KEYS = {
    "agent_key": "billing",
    "conversation_key": "",
    "end_user_key": "http:abc123",
    "label": "PersonaBelief",
    "line_key": "",
    "name": "",
    "key": "house",
    "server": "orders-1",
    "category": "",
    "search": "refund",
    "q": "refund",
}
# Parameters that name no row.
NEUTRAL_FIELDS = {
    "version",
    *("confirm_findings", "with_profiles", "limited_act", "since", "until"),
    "line",
    "needs_rebase",
    "cursor",
    "page_size",
    "fields",
    "as_of",
    "wait",
    "from",
    "to",
    "ordering",
    "channel",
    "status",
    "state",
    "kind",
    "origin",
    "verdict",
    "source",
    "has_no_lesson",
    "review_by",
    "curation",
    "act",
    "code",
    "day",
    *("grounding", "reason", "reason_code", "reported"),
    "send_mode",
    "needs_approval",
    "is_listed",
    "model",
    "taint",
    "tier",
    "risk",
    "queue",
    "is_active",
    *(
        "is_pinned",
        "is_read_only",
        "outcome",
        "off_the_record",
        "is_quarantined",
        "has_external_agent",
        "stuck",
        "due",
        "is_stand_in",
        "is_claimed",
    ),
    "is_overdue",
    "role",
    "subject_type",
    "target_type",
    "is_claimed_by_caller",
    "actor_role",
    # Every tenant has a system, and its first agent may be called support.
    "actor_label",
}
BODY_IDS = ("tenant", "tenant_id", "agent", "agent_id", "conversation_id", "target_id", "skill_id")


@pytest.fixture
def stranger() -> World:
    return make_world()


@cache
def description() -> dict[str, Any]:
    schema: dict[str, Any] = SchemaGenerator().get_schema(request=None, public=True)  # type: ignore[no-untyped-call]  # untyped there
    return schema


def operations() -> Iterator[Operation]:
    for path, methods in description()["paths"].items():
        # It has no row of its own and looks in threads: tests/api/sse/test_review_stream.py follows it as a stranger.
        if path.endswith("/review/stream/"):
            continue
        for method, operation in methods.items():
            yield method.upper(), path, operation


def clients(world: World) -> dict[str, Client]:
    operator, admin = Client(), Client()
    operator.force_login(world.operator_user)
    admin.force_login(world.admin_user)
    return {"operator": operator, "admin": admin, "agent": Client(headers={"Authorization": f"Bearer {world.token}"})}


def noun_of(path: str) -> Any:
    """The model behind an address; one that nobody knows here fails, so that a new one joins."""
    return MODELS[path.removeprefix("/api/v1/").split("/")[0]]


def send_request(client: Client, method: str, path: str, body: object = None) -> Any:
    given: dict[str, Any] = {} if body is None else {"data": json.dumps(body), "content_type": "application/json"}
    return client.generic(method, path, **given)


@pytest.mark.slow
@pytest.mark.whole
def test_every_address_answers_for_another_tenants_row_as_for_none(
    victim: Filled, stranger: World, caplog: pytest.LogCaptureFixture
) -> None:
    # R006, R007: list, detail, change, move, history, waiting, and whatever joins them.
    caplog.set_level(logging.DEBUG, "apps")
    before, asked, everybody = table_fingerprints(victim.world), 0, list(clients(stranger).items())
    for place, (method, path, operation) in enumerate(operations()):
        # A stream's threads see only what is committed: tests/end_to_end/test_conversation_stream.py asks for a foreign one.
        if "{" not in path or path.endswith("/stream/"):
            continue
        row, sent = row_of(noun_of(path), victim.world), bodies(operation)
        for turn, (name, client) in enumerate(share_of(place, everybody, rows=len(everybody)), place):
            for body in share_of(turn // len(everybody), sent, rows=len(sent)):
                by_id = partial(_request_by_id, client, method, path, body)
                there, nowhere = compare_responses(by_id, row.pk, UNKNOWN_ID)
                assert not there.differs_from(nowhere), (name, method, path, body)
                assert there.status in {400, 403, 404}, (name, method, path, there)
                asked += 1
    assert asked > whole_or(50, whole=200)
    assert table_fingerprints(victim.world) == before
    assert "refund" not in caplog.text


def _request_by_id(client: Client, method: str, path: str, body: object, pk: int) -> Any:
    return send_request(client, method, path_with_id(path, pk), body)


def path_with_id(path: str, pk: int) -> str:
    """The address with the id wherever one belongs, and a word of no meaning where a name does."""
    return re.sub(r"{(\w+)}", lambda found: str(pk) if found[1].endswith("id") else "notes.txt", path)


def _request_by_parameter(client: Client, path: str, query: dict[str, Any], parameter: str, word: object) -> Any:
    return client.get(path, query | {parameter: word})


def _request_by_body(client: Client, path: str, whole: dict[str, object], name: str, word: object) -> Any:
    return send_request(client, "POST", path, {**whole, name: word})


def _request_by_header(client: Client, key: str) -> Any:
    return client.get("/api/v1/skills/", headers={"X-Preceptor-Tenant": key})


def bodies(operation: dict[str, Any]) -> list[object]:
    """None where nothing is sent; else nothing, and something in every field that the description names."""
    content = operation.get("requestBody", {}).get("content", {}).get(JSON)
    if content is None:
        return [None]
    return [{}, {name: sample_value(of) for name, of in fields_of(content["schema"]).items()}]


def fields_of(schema: dict[str, Any]) -> dict[str, Any]:
    named = description()["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    properties: dict[str, Any] = named["properties"]
    return {name: of for name, of in properties.items() if not of.get("readOnly")}


def sample_value(of: dict[str, Any]) -> object:
    """A value of the field's type; its words say nothing."""
    kinds: dict[object, object] = {"integer": 1, "boolean": True, "number": 1, "array": [], "object": {}}
    if "enum" in of:
        return of["enum"][0]
    declared_type = of.get("type")
    # What may be null is said as a list of types.
    return kinds.get(declared_type[0] if isinstance(declared_type, list) else declared_type, "Mine.")


@pytest.mark.slow
@pytest.mark.whole
def test_every_filter_of_every_list_finds_another_tenants_row_as_little_as_none(
    victim: Filled, stranger: World
) -> None:
    # R006: by id, by key, by words; and every list without any, in every order.
    everybody = list(clients(stranger).items())
    for place, (method, path, operation) in enumerate(operations()):
        if method != "GET" or "{" in path:
            continue
        row = row_of(noun_of(path), victim.world)
        filters = [
            each["name"]
            for each in operation["parameters"]
            if each["in"] == "query" and each["name"] not in NEUTRAL_FIELDS
        ]
        for turn, (name, client) in enumerate(everybody, place):
            for parameter in share_of(turn, filters, rows=len(everybody)):
                nothing = UNKNOWN_ID if parameter.endswith("_id") else "nothing-like-it"
                by_word = partial(_request_by_parameter, client, path, required_query(path, row), parameter)
                there, nowhere = compare_responses(by_word, value_for(parameter, row), nothing)
                assert not there.differs_from(nowhere), (name, path, parameter)
            assert row.pk not in listed_ids(client.get(path, required_query(path, row))), (name, path)


def value_for(parameter: str, row: Any) -> object:
    """What the victim's row has under the parameter's name; a parameter that is neither fails here."""
    if parameter.endswith(("_id", "_type")):
        # A row that names none is asked for by its own number.
        return getattr(row, parameter) or row.pk
    return KEYS[parameter] or getattr(row, parameter) or "support"


def required_query(path: str, row: Any) -> dict[str, Any]:
    if path.rstrip("/").endswith("/search"):
        return {"q": "nobody-says-this"}
    return {"conversation_id": row.conversation_id} if path.rstrip("/").endswith("/messages") else {}


def listed_ids(answer: Any) -> list[int]:
    return [line["id"] for line in answer.json().get("results", [])]


@pytest.mark.slow
@pytest.mark.whole
def test_a_cursor_of_another_tenants_list_leads_to_ones_own_rows(victim: Filled, stranger: World) -> None:
    # R006
    followed, owner, everybody = 0, clients(victim.world)["operator"], list(clients(stranger).items())
    for method, path, _ in operations():
        if method != "GET" or "{" in path:
            continue
        row = row_of(noun_of(path), victim.world)
        page = owner.get(path, required_query(path, row) | {"page_size": 1}).json()
        if not page.get("next"):
            continue
        theirs = {line["id"] for line in page["results"]} | {row.pk}
        for name, client in share_of(followed, everybody, rows=len(everybody)):
            answer = client.get(page["next"])
            assert not theirs & set(listed_ids(answer)), (name, path)
            assert all(f'"id":{pk},' not in answer.content.decode() for pk in theirs), (name, path)
        followed += 1
    assert followed >= 3


@pytest.mark.slow
@pytest.mark.whole
def test_nothing_is_made_for_another_tenant_whatever_a_body_names(victim: Filled, stranger: World) -> None:
    # R006: a foreign tenant, agent, conversation or target in a body is as unknown as one that is nowhere.
    before, refused, everybody = table_fingerprints(victim.world), 0, list(clients(stranger).items())
    # An import is a form with a file: tests/api/resources/test_skill_archives.py sends one that names a foreign agent.
    making = [(path, each) for method, path, each in operations() if method == "POST" and "{" not in path]
    making = [(path, each) for path, each in making if JSON in each.get("requestBody", {}).get("content", {})]
    for place, (path, operation) in enumerate(making):
        fields = fields_of(operation["requestBody"]["content"][JSON]["schema"])
        whole = {name: sample_value(of) for name, of in fields.items()}
        for turn, (name, client) in enumerate(everybody, place):
            for smuggled in share_of(turn, (*BODY_IDS, "agent_key"), rows=len(everybody)):
                theirs = victim.world.agent.pk if smuggled.startswith("agent") else victim.world.tenant.pk
                pair = ("billing", "nobody-here") if smuggled == "agent_key" else (theirs, UNKNOWN_ID)
                by_body = partial(_request_by_body, client, path, whole, smuggled)
                there, nowhere = compare_responses(by_body, *pair)
                assert not there.differs_from(nowhere), (name, path, smuggled)
                assert there.status in {400, 403}, (name, path, smuggled, there)
                refused += 1
    assert refused >= len(making) * len(BODY_IDS)
    assert table_fingerprints(victim.world) == before


def test_naming_another_tenant_in_the_header_is_like_naming_none(victim: Filled, stranger: World) -> None:
    # R007
    client = clients(stranger)["operator"]
    there, nowhere = compare_responses(partial(_request_by_header, client), victim.world.tenant.key, "no-such-tenant")
    assert not there.differs_from(nowhere)
    assert there.status == 403
    agent = clients(stranger)["agent"].get("/api/v1/skills/", headers={"X-Preceptor-Tenant": victim.world.tenant.key})
    assert listed_ids(agent) == []


def test_every_address_that_the_router_knows_is_described() -> None:
    # What is not described would not be tested here.
    described = {path.removeprefix("/api/v1/").split("/")[0] for _, path, _ in operations()}
    assert described == set(MODELS)
