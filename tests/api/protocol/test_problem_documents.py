"""Every refusal is a problem document, and no input is a fault of ours."""

import base64
import json
import re
from typing import Any
from urllib.parse import urlencode

import pytest
from django.test import Client

from apps.api.openapi.error_reference import DOCUMENT
from apps.api.protocol.problem_details import TITLES
from apps.api.protocol.request_bodies import BODY_BYTES
from apps.launcher.data_folders import PROJECT
from tests.support.drivers.rest_client import Answer, RestClient
from tests.support.image_files import image_files
from tests.support.worlds.world import World, make_persona, make_skill

MEMBERS = {"type", "title", "status", "detail", "code", "instance"}


def assert_problem(answer: Answer, status: int, code: str) -> None:
    assert (answer.status, answer.code) == (status, code)
    assert answer.headers["Content-Type"] == "application/problem+json"
    assert set(answer.body) >= MEMBERS
    assert answer.body["type"] == f"/docs/errors#{code}"
    assert answer.body["status"] == status
    assert answer.body["detail"].strip()


def test_problem_says_where_and_what(bot: RestClient) -> None:
    answer = bot.get("skills/999999/")
    assert_problem(answer, 404, "not_found")
    assert answer.body["instance"] == "/api/v1/skills/999999/"


def test_type_of_a_problem_is_an_address_that_explains_it(bot: RestClient, client: Client) -> None:
    address, _, anchor = bot.get("skills/999999/").body["type"].partition("#")
    page = client.get(address)
    assert (page.status_code, page.headers["Content-Type"]) == (200, "text/html; charset=utf-8")
    anchors = re.findall(r' id="([^"]+)"', page.content.decode())
    assert anchor in anchors
    assert set(anchors) >= {*TITLES}
    # Codes in tables and lists, and the target of a link within the page.
    assert {"overloaded", "day_budget_spent", "refused", "model-failures"} <= set(anchors)
    assert "schedules.md" not in page.content.decode()


def test_image_has_the_page_of_errors() -> None:
    assert DOCUMENT.relative_to(PROJECT) in image_files()


@pytest.mark.parametrize("row_id", ["x", "1.5", "-1", "0x1", "9" * 19, "9" * 5000, "1%00", "²"])
def test_id_that_is_none_is_not_found(bot: RestClient, row_id: str) -> None:
    assert_problem(bot.get(f"skills/{row_id}/"), 404, "not_found")
    assert_problem(bot.get(f"events/{row_id}/"), 404, "not_found")


@pytest.mark.parametrize("method", ["GET", "POST", "DELETE", "OPTIONS"])
def test_unknown_address_is_a_problem_too(bot: RestClient, method: str) -> None:
    assert_problem(bot.ask(method, "skils/"), 404, "not_found")
    assert_problem(bot.ask(method, ""), 404, "not_found")


def test_trailing_slash_is_not_needed(bot: RestClient) -> None:
    assert bot.get("skills").status == 200


@pytest.mark.parametrize(
    "body",
    [
        "{",
        "",
        "nul",
        '{"body": NaN}',
        b'{"body": "\xff"}',
        "[" * 200_000,
        '{"body": ' + "9" * 10_000 + "}",
    ],
)
def test_body_that_is_no_json_is_malformed(bot: RestClient, body: Any) -> None:
    answer = bot.post("memories/", body)
    assert answer.status == 400
    assert answer.code in {"malformed", "invalid"}


@pytest.mark.parametrize("body", [[], "text", 5, None, True])
def test_body_that_is_no_object_is_refused(bot: RestClient, body: Any) -> None:
    assert_problem(bot.post("memories/", json.dumps(body)), 400, "invalid")


@pytest.mark.parametrize("text", [5, 1.5, True, None, [], {}, ["a"], "\x00", "a\x00b", "\ud800", "x\udfff"])
def test_text_that_cannot_be_text_is_refused_by_field(bot: RestClient, text: Any) -> None:
    answer = bot.post("memories/", {"body": text})
    assert_problem(answer, 400, "invalid")
    assert list(answer.body["errors"]) == ["body"]


@pytest.mark.parametrize("version", ["1", 1.0, True, 0, -1, 2**70, None, []])
def test_version_that_is_no_number_is_refused(world: World, operator: RestClient, version: Any) -> None:
    persona = make_persona(world)
    answer = operator.patch(f"personas/{persona.pk}/", {"style": "x", "version": version})
    assert_problem(answer, 400, "invalid")
    assert list(answer.body["errors"]) == ["version"]


@pytest.mark.parametrize("name", ["bdy", "\ud800", "", "__class__"])
def test_unknown_field_is_refused_and_named(bot: RestClient, name: str) -> None:
    answer = bot.post("memories/", {"body": "x", name: "y"})
    assert_problem(answer, 400, "invalid")
    assert "There is no such field" in answer.body["detail"]


@pytest.mark.parametrize("times", [1, 4])
def test_body_that_does_not_end_is_too_large(bot: RestClient, times: int) -> None:
    # Four times ours is more than Django itself reads.
    assert_problem(bot.post("memories/", {"body": "x" * BODY_BYTES * times}), 413, "too_large")


def test_body_in_another_format_is_refused(world: World, bot: RestClient) -> None:
    response = bot.client.post("/api/v1/memories/", {"body": "x"})
    assert (response.status_code, response.json()["code"]) == (415, "unsupported_media_type")


def test_method_that_is_not_offered_names_those_that_are(bot: RestClient) -> None:
    answer = bot.delete("memories/")
    assert_problem(answer, 405, "method_not_allowed")
    assert {"GET", "POST"} <= set(answer.body["allowed"])
    assert "GET" in answer.headers["Allow"]


@pytest.mark.parametrize(
    "query",
    [
        "statsu=approved",
        "status=fine",
        "ordering=body",
        "ordering=name;drop",
        "name=%00",
        "cursor=x",
        "cursor=" + base64.b64encode(urlencode({"p": "x"}).encode()).decode(),
        "cursor=" + base64.b64encode(urlencode({"p": "1\x00"}).encode()).decode(),
        "cursor=" + base64.b64encode(b"p=\xff").decode(),
        "ordering=name&cursor=" + base64.b64encode(urlencode({"p": "a\x00"}).encode()).decode(),
    ],
)
def test_filter_that_makes_no_sense_is_refused(world: World, bot: RestClient, query: str) -> None:
    make_skill(world)
    assert_problem(bot.get(f"skills/?{query}"), 400, "invalid")


def cursor_at(moment: str) -> str:
    return urlencode({"ordering": "updated_at", "cursor": base64.b64encode(urlencode({"p": moment}).encode()).decode()})


@pytest.mark.parametrize(
    "moment",
    [
        "yesterday",
        "2026-01-01",
        "2026-01-01 12:00:00",
        "2026-13-45 12:00:00+00:00",
        "0001-01-01 00:00:00+23:59",
        "9999-12-31 23:59:59-23:59",
        "2026-01-01 12:00:00+20:00",
        "2026-01-01 12:00:00+99:99",
        "99999-01-01 12:00:00+00:00",
        "-infinity",
    ],
)
def test_forged_cursor_at_no_moment_of_ours_is_refused(world: World, bot: RestClient, moment: str) -> None:
    make_skill(world)
    answer = bot.get(f"skills/?{cursor_at(moment)}")
    assert_problem(answer, 400, "invalid")
    assert list(answer.body["errors"]) == ["cursor"]


@pytest.mark.parametrize(
    "moment", ["0001-01-01 00:00:00+00:00", "2026-01-01T12:00:00Z", "9999-12-31 23:59:59.999999+00:00"]
)
def test_cursor_at_any_moment_in_utc_is_answered(world: World, bot: RestClient, moment: str) -> None:
    make_skill(world)
    assert bot.get(f"skills/?{cursor_at(moment)}").status == 200


@pytest.mark.parametrize("wanted", ["x", "1.5", "9" * 5000, "1e999999", "%00"])
def test_id_in_a_filter_is_a_number(world: World, bot: RestClient, wanted: str) -> None:
    assert bot.get(f"messages/?conversation_id={wanted}").status == 400


def test_huge_number_in_a_filter_finds_nothing(bot: RestClient) -> None:
    answer = bot.get(f"messages/?conversation_id={'9' * 30}")
    assert (answer.status, answer.body["results"]) == (200, [])


@pytest.mark.parametrize("query", ["page_size=0", "page_size=-1", "page_size=x", "cursor=", "search=%25_'\""])
def test_odd_but_harmless_queries_are_answered(world: World, bot: RestClient, query: str) -> None:
    assert bot.get(f"skills/?{query}").status == 200
