"""The OpenAPI document is complete, and every code a problem can have is explained."""

import re
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client

from apps.api.protocol.problem_details import EXTRA_MEMBERS, STATUS_BY_ERROR, TITLES
from apps.launcher.data_folders import PROJECT
from tests.support.drivers.rest_client import ROOT
from tests.support.worlds.world import World

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
