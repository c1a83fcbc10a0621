"""The OpenAPI document is complete, and every code a problem can have is explained."""

import re
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client

from apps.api.protocol.problem_details import EXTRA_MEMBERS, STATUS_BY_ERROR, TITLES
from apps.launcher.data_folders import PROJECT
from tests.support.drivers.rest_client import ROOT, RestClient, agent_client, person_client
from tests.support.worlds.world import World, make_skill

PAGE = PROJECT / "docs" / "errors.md"


@pytest.mark.slow
def test_document_is_written_without_a_warning(tmp_path: Path) -> None:
    call_command(
        "spectacular", "--validate", "--fail-on-warn", format="openapi-json", file=str(tmp_path / "schema.json")
    )


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:  # Any: an OpenAPI document
    """As it is served to somebody who is not logged in: as JSON, since reading a megabyte of YAML takes ten seconds."""
    response = Client().get(f"{ROOT}/schema/", {"format": "json"})
    assert response.status_code == 200
    served: dict[str, Any] = response.json()
    return served


def test_document_is_served_to_anybody_and_names_every_noun(document: dict[str, Any]) -> None:
    nouns = {path.split("/")[3] for path in document["paths"]}
    assert nouns >= {"personas", "skills", "memories", "profiles", "conversations", "messages", "sessions"}
    assert "memory-blocks" in nouns
    assert nouns >= {"proposals", "extractions", "agents", "events", "overlays", "identity-cards", "rules"}
    content = document["paths"][f"{ROOT}/conversations/{{id}}/stream/"]["get"]["responses"]["200"]["content"]
    assert list(content) == ["text/event-stream"]


def test_every_operation_can_refuse_and_asks_who_is_there(document: dict[str, Any]) -> None:
    operations = [operation for path in document["paths"].values() for operation in path.values()]
    assert operations
    for operation in operations:
        assert operation["responses"]["403"] == {"$ref": "#/components/responses/NotPermitted"}
        assert "default" not in operation["responses"]
        assert {"agentToken": []} in operation["security"]
    for answer in document["components"]["responses"].values():
        assert answer["content"]["application/problem+json"] == {"schema": {"$ref": "#/components/schemas/Problem"}}


def test_every_member_of_a_problem_is_in_the_document(document: dict[str, Any]) -> None:
    assert set(document["components"]["schemas"]["Problem"]["properties"]) >= {*EXTRA_MEMBERS, "errors"}


@pytest.mark.parametrize("address", [f"{ROOT}/docs/", f"{ROOT}/docs"])
def test_documentation_page_is_served_locally_to_signed_in_people(world: World, address: str) -> None:
    stranger = Client().get(address)
    assert (stranger.status_code, "/login/" in stranger["Location"]) == (302, True)
    client = Client()
    client.force_login(world.operator_user)
    page = client.get(address)
    assert page.status_code == 200
    assert b"swagger-ui" in page.content
    assert b"cdn.jsdelivr.net" not in page.content
    policy = page["Content-Security-Policy"]
    assert policy.startswith("default-src 'none'; script-src 'self';")
    scripts = re.findall(rb"<script[^>]*>([^<]*)</script>", page.content)
    assert [words.strip() for words in scripts] == [b""] * 3
    start = client.get(f"{address}?script")
    assert b"SwaggerUIBundle" in start.content


def test_every_code_of_a_problem_has_a_section_of_its_own() -> None:
    sections = set(re.findall(r"^### `(\S+)`$", PAGE.read_text(encoding="utf-8"), re.MULTILINE))
    assert sections >= set(TITLES)
    assert sections >= {kind.code for kind in STATUS_BY_ERROR}


def operations(document: dict[str, Any]) -> dict[tuple[str, str], dict[str, Any]]:
    return {
        (method, path): operation
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    }


def test_generated_clients_can_read_every_successful_response(document: dict[str, Any]) -> None:
    # What openapi-python-client knows. It leaves an operation's response out if none of its types is among these.
    known = ("application/json", "application/octet-stream", "text/")
    assert [
        each
        for each, operation in operations(document).items()
        for status, response in operation["responses"].items()
        if status < "300" and "content" in response and not any(name.startswith(known) for name in response["content"])
    ] == []


def test_every_enum_has_a_type(document: dict[str, Any]) -> None:
    schemas = document["components"]["schemas"]
    assert [name for name, schema in schemas.items() if "enum" in schema and "type" not in schema] == []


@pytest.mark.parametrize(
    "end", ["/messages/", "/talks/{id}/messages/", "/trials/{id}/messages/", "/sessions/{id}/turns/"]
)
def test_idempotency_key_is_required_where_a_request_without_it_is_refused(document: dict[str, Any], end: str) -> None:
    parameters = operations(document)["post", f"{ROOT}{end}"]["parameters"]
    [key] = [each for each in parameters if each["name"] == "Idempotency-Key"]
    assert key["required"] is True
    other = operations(document)["post", f"{ROOT}/skills/"]["parameters"]
    assert not any(each.get("required") for each in other if each["name"] == "Idempotency-Key")


ARCHIVE, LINES, PROBLEM = "application/zip", "application/jsonl", "application/problem+json"


@pytest.mark.parametrize(
    ("accepted", "given"),
    [
        (ARCHIVE, ARCHIVE),
        (f"{ARCHIVE}, {PROBLEM}", ARCHIVE),
        ("application/octet-stream", "application/octet-stream"),
        (PROBLEM, ARCHIVE),
        ("*/*", ARCHIVE),
    ],
)
def test_archive_is_sent_to_a_client_that_names_a_documented_type(world: World, accepted: str, given: str) -> None:
    make_skill(world, "approved")
    answer = agent_client(world).get("skills/export/", Accept=accepted)
    assert (answer.status, answer.headers["Content-Type"]) == (200, given)


@pytest.mark.parametrize(("accepted", "given"), [(LINES, LINES), ("text/plain", "text/plain"), (PROBLEM, LINES)])
def test_log_is_sent_to_a_client_that_names_a_documented_type(world: World, accepted: str, given: str) -> None:
    address = "verifications/export/?since=2001-01-01&until=2001-01-02"
    answer = person_client(world.admin_user).get(address, Accept=accepted)
    assert (answer.status, answer.headers["Content-Type"]) == (200, given)


def test_client_that_names_only_the_type_of_refusals_can_delete(world: World, bot: RestClient) -> None:
    skill = make_skill(world)
    assert bot.delete(f"skills/{skill.pk}/", Accept=PROBLEM).status == 204
    refused = bot.delete(f"skills/{skill.pk}/", Accept=PROBLEM)
    assert (refused.status, refused.headers["Content-Type"]) == (404, PROBLEM)
    assert bot.get("skills/", Accept="text/html").code == "not_acceptable"
