"""What a call sends is what the SDK would have sent; what calls have in common they hold once while they wait."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from apps.llm.anthropic.shared_request_bodies import body_of
from apps.llm.anthropic.sync_client import AnthropicBackend
from apps.llm.model_backend import BackendError, BadRequest, MessageMark, ModelRequest, SystemBlock, ToolDefinition
from tests.support.drivers.async_backend import HELLO, ask_backend

pytestmark = pytest.mark.pure

LARGE_REQUEST = ModelRequest(
    "claude-opus-5-5",
    300,
    (SystemBlock("The contract: “Grüezi”.\n" * 40, "1h"), SystemBlock("\n\nA profile.", "5m")),
    (
        {"role": "user", "content": "Wo isch mis Päckli? 📦"},
        {
            "role": "assistant",
            "content": [{"type": "tool_use", "id": "t1", "name": "look", "input": {"a": [1.5, None]}}],
        },
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "gone", "is_error": True}],
        },
    ),
    (
        ToolDefinition("look", "Look it up.", {"type": "object", "properties": {}}, "1h"),
        ToolDefinition("end", "Stop.", {"type": "object"}),
    ),
    timeout_seconds=10,
    effort="low",
    output_schema={"type": "object"},
    message_marks=(MessageMark(0, 0, "5m"),),
)


@pytest.mark.parametrize("request_", [LARGE_REQUEST, HELLO, replace(LARGE_REQUEST, tools=(), system=())])
def test_bytes_are_those_the_sdk_makes_of_the_request(request_: ModelRequest) -> None:
    with recording_server() as (url, kept):
        for _ in range(2):
            with pytest.raises(BackendError):
                ask_backend(url, request_)
        sync = AnthropicBackend("a-key", base_url=url)
        with pytest.raises(BackendError):
            sync.complete(request_)
        sync.close()
    lengths = [int(length) for length, _ in kept]
    assert [body for _, body in kept] == [kept[-1][1]] * 3
    assert lengths == [len(kept[-1][1])] * 3


def test_calls_with_one_prefix_hold_it_once() -> None:
    one, other = body_of(LARGE_REQUEST), body_of(replace(LARGE_REQUEST, messages=HELLO.messages, message_marks=()))
    assert one.common is other.common
    assert one.own != other.own
    assert len(one.own) < len(one.common)


def test_bytes_follow_a_redirect() -> None:
    with recording_server(redirects=1) as (url, kept), pytest.raises(BackendError):
        ask_backend(url, LARGE_REQUEST)
    assert len(kept) == 2
    assert kept[0] == kept[1]


def test_half_a_character_is_our_own_fault() -> None:
    with recording_server() as (url, kept), pytest.raises(BadRequest, match="half of a character"):
        ask_backend(url, replace(HELLO, messages=({"role": "user", "content": "\ud83d"},)))
    assert kept == []


@contextmanager
def recording_server(redirects: int = 0) -> Iterator[tuple[str, list[tuple[str, bytes]]]]:
    """A server that keeps what it is sent, with the length it was told, and answers nothing of use."""
    kept: list[tuple[str, bytes]] = []

    class Keeper(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            length = self.headers["content-length"]
            kept.append((length, self.rfile.read(int(length))))
            self.send_response(307 if len(kept) <= redirects else 500)
            self.send_header("location", self.path)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name http.server gives it
            pass

    with HTTPServer(("127.0.0.1", 0), Keeper) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", kept
        finally:
            server.shutdown()
            thread.join()
