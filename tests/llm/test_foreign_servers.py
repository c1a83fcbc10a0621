"""The backend against servers that are not the stand-in: refusals, gateways and nonsense."""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from apps.llm.anthropic.sync_client import AnthropicBackend
from apps.llm.model_backend import (
    BackendError,
    BadRequest,
    Json,
    JsonObject,
    MalformedReply,
    ModelRequest,
    NotAuthorised,
    ServerFault,
    SpendLimitReached,
    TimedOut,
    Usage,
)

pytestmark = pytest.mark.pure

HELLO = ModelRequest("claude-opus-5-5", 300, (), ({"role": "user", "content": "Hello"},), timeout_seconds=10)


@pytest.mark.parametrize(
    ("status", "body", "error"),
    [
        (
            400,
            {"error": {"type": "invalid_request_error", "message": "You reached your API usage limits."}},
            SpendLimitReached,
        ),
        (402, {"error": {"type": "billing_error", "message": "Pay."}}, SpendLimitReached),
        (403, {"error": {"type": "permission_error", "message": "No."}}, NotAuthorised),
        (404, {"error": {"type": "not_found_error", "message": "No such model."}}, BadRequest),
        (408, {}, TimedOut),
        (503, {}, ServerFault),
        (200, {"surprise": True}, MalformedReply),
        (200, [], MalformedReply),
    ],
)
def test_answer_of_another_server_is_detected(status: int, body: Json, error: type[BackendError]) -> None:
    with fixed_answer_server(status, body) as url:
        backend = AnthropicBackend("a-key", base_url=url)
        with pytest.raises(error) as caught:
            backend.complete(HELLO)
        backend.close()
    assert type(caught.value) is error
    assert caught.value.retry_after_seconds == (None if status == 200 else pytest.approx(60, abs=1))


def test_another_server_is_not_taken_for_the_stand_in() -> None:
    message: JsonObject = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 3, "output_tokens": 1, "cache_creation_input_tokens": 9},
    }
    with fixed_answer_server(200, message) as url:
        backend = AnthropicBackend("a-key", base_url=url)
        reply = backend.complete(HELLO)
        backend.close()
    assert reply.is_stand_in is False
    assert reply.usage == Usage(input_tokens=3, output_tokens=1, cache_write_5m_tokens=9)


@contextmanager
def fixed_answer_server(status: int, body: Json) -> Iterator[str]:
    """A server that is not the stand-in and always says the same."""

    class Always(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            content = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(content)))
            self.send_header("retry-after", self.date_time_string(int(time.time()) + 60))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name http.server gives it
            pass

    with HTTPServer(("127.0.0.1", 0), Always) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()
