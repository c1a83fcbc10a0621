"""Log lines and counts: what they say, what they never say, and what goes along into threads."""

import asyncio
import json
import logging
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from apps.telemetry.log_context import Fact, add_log_facts, current_facts, log_context, replace_log_context
from apps.telemetry.log_formatters import JsonLines, PlainLines
from apps.telemetry.prometheus import labelled_counter
from apps.telemetry.request_logging import ROUTE_KEY, RequestLogMiddleware

pytestmark = [pytest.mark.pure, pytest.mark.kernel]

SECRET = "my card is 4711"


def format_record(formatter: logging.Formatter, error: BaseException | None = None, **extra: object) -> str:
    given = {"msg": "drafted %s", "args": ("skill",), "levelname": "INFO", "name": "apps.x", **extra}
    record = logging.makeLogRecord(given)
    if error is not None:
        record.exc_info = (type(error), error, error.__traceback__)
    return formatter.format(record)


def make_error() -> BaseException:
    try:
        raise ValueError(SECRET)
    except ValueError as error:
        return error


def test_a_line_says_the_scene_around_it_and_what_it_says_itself() -> None:
    with log_context(request_id="r-1", tenant_id=7):
        add_log_facts(actor="agent")
        with log_context(turn_id=3):
            log_entry = json.loads(format_record(JsonLines(), skill_id=12, request=object()))
        outside = json.loads(format_record(JsonLines()))
    assert {name: log_entry[name] for name in ("level", "logger", "message", "skill_id")} == {
        "level": "INFO",
        "logger": "apps.x",
        "message": "drafted skill",
        "skill_id": 12,
    }
    assert (log_entry["request_id"], log_entry["tenant_id"], log_entry["actor"], log_entry["turn_id"]) == (
        "r-1",
        7,
        "agent",
        3,
    )
    assert "turn_id" not in outside
    assert "request" not in log_entry
    assert "request_id" not in json.loads(format_record(JsonLines()))


@pytest.mark.parametrize("formatter", [JsonLines(), PlainLines()])
def test_words_of_an_exception_are_left_out_and_where_it_happened_is_said(formatter: logging.Formatter) -> None:
    log_line = format_record(formatter, make_error(), msg="failed: %s", args=(SECRET,))
    assert SECRET not in log_line
    assert "ValueError" in log_line
    assert "make_error" in log_line


def test_a_line_says_nothing_that_is_not_named() -> None:
    with pytest.raises(ValueError, match="customer"), log_context(customer="x"):
        pass
    with pytest.raises(ValueError, match="words"):
        add_log_facts(words="x")


def test_a_scene_follows_its_task_and_the_threads_it_awaits_and_no_other_task() -> None:
    async def turn(number: int) -> tuple[Fact, Fact]:
        with log_context(turn_id=number):
            inside = await asyncio.to_thread(lambda: current_facts()["turn_id"])
            return current_facts()["turn_id"], inside

    async def turns() -> list[tuple[Fact, Fact]]:
        return list(await asyncio.gather(*map(turn, range(5))))

    assert asyncio.run(turns()) == [(number, number) for number in range(5)]
    assert current_facts() == {}


def test_task_start_and_end_set_the_context() -> None:
    replace_log_context(task="apps.x.tasks.y", task_id="1")
    assert current_facts() == {"task": "apps.x.tasks.y", "task_id": "1"}
    replace_log_context()
    assert current_facts() == {}


def test_however_many_labels_there_are_the_counts_stay_bounded() -> None:
    registry = CollectorRegistry()
    counter = labelled_counter("test_bounded_total", "Bounded.", "route", registry=registry)
    for number in range(700):
        counter.labels(route=number).inc()
    counter.labels(route=0).inc()
    [metric] = registry.collect()
    values = {sample.labels["route"]: sample.value for sample in metric.samples}
    assert (len(values), sum(values.values())) == (501, 701)
    assert (values["0"], values["others"]) == (2, 200)


def run_request(headers: list[tuple[bytes, bytes]], caplog: pytest.LogCaptureFixture) -> tuple[str, dict[str, Any]]:
    """A request around which something is logged; the id that goes out, and the facts inside."""
    sent: list[Any] = []
    inside: dict[str, Any] = {}

    async def app(scope: Any, receive: Any, send: Any) -> None:
        scope[ROUTE_KEY] = "api/v1/skills/"
        inside.update(current_facts())
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    async def nothing() -> Any:
        raise AssertionError

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {"type": "http", "method": "GET", "path": f"/api/v1/skills/?search={SECRET}", "headers": headers}
    with caplog.at_level(logging.INFO, "apps.telemetry.request_logging"):
        asyncio.run(RequestLogMiddleware(app)(scope, nothing, send))
    return dict(sent[0]["headers"])[b"x-request-id"].decode(), inside


@pytest.mark.parametrize(("given", "is_taken"), [("r-1.a_B", True), ("", False), ("a b", False), ("x" * 65, False)])
def test_a_request_keeps_the_id_it_came_with_where_it_is_one(
    given: str, is_taken: bool, caplog: pytest.LogCaptureFixture
) -> None:
    returned_id, inside = run_request([(b"x-request-id", given.encode())], caplog)
    assert inside["request_id"] == returned_id
    assert (returned_id == given) is is_taken
    assert returned_id
    [line] = [record for record in caplog.records if record.name == "apps.telemetry.request_logging"]
    assert (line.message, vars(line)["route"], vars(line)["status"]) == ("request", "api/v1/skills/", 200)
    assert SECRET not in str(vars(line))
