"""The stand-in's bill: what a ledger is compared with after a run that broke many things."""

import hashlib
import json
import socket
import threading
from typing import Any

import pytest

from apps.llm.model_backend import Json, JsonObject, Usage
from apps.standin.http_api import billing
from apps.standin.http_api.billing import BillingLog
from apps.standin.requests import ArrivedRequest
from tests.support.drivers.standin_http import HELLO, call_standin, read_bill, usage_of, wait_for_figure
from tests.support.timeouts import PATIENCE_SECONDS

pytestmark = pytest.mark.pure

ARRIVED = ArrivedRequest("/standin/bill", {}, b"")
SYSTEM: JsonObject = {"type": "text", "text": "s" * 8000, "cache_control": {"type": "ephemeral", "ttl": "1h"}}
EMPTY_BILL = {
    "calls": 0,
    "input_tokens": 0,
    "output_tokens": 0,
    "cache_read_tokens": 0,
    "cache_write_5m_tokens": 0,
    "cache_write_1h_tokens": 0,
}


def questions(base_url: str) -> dict[str, Any]:
    _, content = call_standin(base_url, "GET", "/standin/bill/questions")
    assert isinstance(content, dict)
    return content


def ask_usage(base_url: str, content: JsonObject, *, key: str = "k") -> JsonObject:
    return usage_of(call_standin(base_url, "POST", "/v1/messages", content, key=key)[1])


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def test_bill_is_the_sum_of_the_usage_of_every_answer(base_url: str) -> None:
    answers = [ask_usage(base_url, HELLO | {"system": [SYSTEM]}, key="sum") for _ in range(3)]
    assert read_bill(base_url) == {
        "whole": {
            "calls": 3,
            "input_tokens": sum(int(str(usage["input_tokens"])) for usage in answers),
            "output_tokens": sum(int(str(usage["output_tokens"])) for usage in answers),
            "cache_read_tokens": 2 * 2000,
            "cache_write_5m_tokens": 0,
            "cache_write_1h_tokens": 2000,
        },
        "broken": EMPTY_BILL,
        "in_flight": 0,
        "most_in_flight": 1,
        "abandoned": 0,
    }


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("fault", ["cut_stream", "malformed", "stall", "stream_error"])
def test_answer_that_breaks_off_is_billed_apart(base_url: str, fault: str, stream: bool) -> None:
    call_standin(base_url, "POST", "/standin/script", [{"fault": fault, "seconds": 0.01}])
    read_until_closed(base_url, HELLO | {"stream": stream})
    refused = fault == "stream_error" and not stream
    assert read_bill(base_url)["whole"] == EMPTY_BILL
    assert read_bill(base_url)["broken"]["calls"] == (0 if refused else 1)
    assert read_bill(base_url)["broken"]["output_tokens"] == (0 if refused else 7)


@pytest.mark.parametrize("fault", ["overloaded", "rate_limited", "server_error", "spend_limit", "timeout"])
def test_refusal_costs_nothing(base_url: str, fault: str) -> None:
    call_standin(base_url, "POST", "/standin/script", [{"fault": fault, "seconds": 0.01}])
    read_until_closed(base_url, HELLO)
    read_until_closed(base_url, {})
    assert (read_bill(base_url)["whole"], read_bill(base_url)["broken"]) == (EMPTY_BILL, EMPTY_BILL)


def test_questions_have_a_line_each_however_often_they_are_asked(base_url: str) -> None:
    lamp: JsonObject = {"role": "user", "content": [{"type": "text", "text": "My lamp"}]}
    use: JsonObject = {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "x", "input": {}}]}
    result: JsonObject = {"type": "tool_result", "tool_use_id": "t", "content": "done"}
    marked = result | {"cache_control": {"type": "ephemeral"}}
    result_message: JsonObject = {"role": "user", "content": [marked]}
    asked: list[list[Json]] = [[lamp], [lamp], [lamp, use, result_message]]
    for messages in asked:
        ask_usage(base_url, HELLO | {"messages": messages})
    ask_usage(base_url, HELLO)
    calls = {question: account["whole"]["calls"] for question, account in questions(base_url).items()}
    compact = json.dumps(result, separators=(",", ":"))
    assert calls == {sha256("My lamp"): 2, sha256(compact): 1, sha256("Hello"): 1}


def test_lines_of_questions_are_bounded_and_the_totals_are_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(billing, "QUESTIONS_KEPT", 2)
    kept = BillingLog()
    for question in ("a", "b", "a", "c"):
        kept.bill(question, Usage(1, 1), whole=True)
    lines = json.loads(kept.show_questions(ARRIVED).chunks[0])
    assert set(lines) == {"a", "c"}
    assert json.loads(kept.show_bill(ARRIVED).chunks[0])["whole"]["calls"] == 4


def test_a_caller_that_hangs_up_early_is_counted_and_not_billed(base_url: str) -> None:
    call_standin(base_url, "POST", "/standin/delay", {"seconds": 60})
    with raw_call(base_url):
        wait_for_figure(base_url, "in_flight", 1)
    wait_for_figure(base_url, "abandoned", 1)
    assert read_bill(base_url) == {
        "whole": EMPTY_BILL,
        "broken": EMPTY_BILL,
        "in_flight": 0,
        "most_in_flight": 1,
        "abandoned": 1,
    }


def test_bill_outlives_the_kept_requests_and_can_be_opened_anew(base_url: str) -> None:
    call_standin(base_url, "POST", "/standin/keeping", {"requests": False})
    ask_usage(base_url, HELLO)
    call_standin(base_url, "DELETE", "/standin/requests")
    assert read_bill(base_url)["whole"]["calls"] == 1
    call_standin(base_url, "POST", "/standin/delay", {"seconds": 60})
    with raw_call(base_url):
        wait_for_figure(base_url, "in_flight", 1)
        _, content = call_standin(base_url, "DELETE", "/standin/bill")
        assert isinstance(content, dict)
        assert (content["in_flight"], content["most_in_flight"], content["whole"]) == (1, 1, EMPTY_BILL)
    assert questions(base_url) == {}
    wait_for_figure(base_url, "in_flight", 0)


@pytest.mark.slow
def test_hundred_calls_at_once_are_counted_together(base_url: str) -> None:
    # Long enough that the last of them is sent before the first is answered, however busy the machine.
    call_standin(base_url, "POST", "/standin/delay", {"seconds": 8})
    threads = [threading.Thread(target=ask_usage, args=(base_url, HELLO)) for _ in range(100)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    counted = read_bill(base_url)
    assert (counted["most_in_flight"], counted["in_flight"], counted["whole"]["calls"]) == (100, 0, 100)


def read_until_closed(base_url: str, content: JsonObject) -> None:
    """Ask, and take whatever comes until the end of the connection."""
    with raw_call(base_url, content) as connection:
        while connection.recv(65536):
            pass


def raw_call(base_url: str, content: JsonObject = HELLO) -> socket.socket:
    """A connection that has asked and can be dropped."""
    host, port = base_url.removeprefix("http://").split(":")
    body = json.dumps(content).encode()
    head = f"POST /v1/messages HTTP/1.1\r\nhost: x\r\nx-api-key: k\r\nconnection: close\r\ncontent-length: {len(body)}"
    connection = socket.create_connection((host, int(port)), timeout=PATIENCE_SECONDS)
    connection.sendall(f"{head}\r\n\r\n".encode() + body)
    return connection
