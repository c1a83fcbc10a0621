"""The client of tool servers against a real one in a process of its own, over both generations of the protocol."""

import asyncio
import gzip
import logging
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from ipaddress import ip_network
from typing import Any

import httpx2
import pytest
from mcp.client.session import ClientSession
from mcp.shared.exceptions import MCPError
from mcp_types import METHOD_NOT_FOUND

from apps.llm.mcp_client.client import _Connection, _translate_failure, call_tool, list_tools
from apps.llm.mcp_client.guarded_transport import LimitedTransport
from apps.llm.mcp_client.tool_server import (
    CallNotSent,
    OutcomeUnknown,
    ToolServerAddress,
    ToolServerFailed,
    ToolServerResult,
)
from apps.outbound.ssrf import PRIVATE_ADDRESS
from tests.support.servers.tool_server import ToolServerProcess, running_tool_server

pytestmark = pytest.mark.pure

LOOPBACK = (ip_network("127.0.0.0/8"),)
LOOPBACK_NETWORKS = (*LOOPBACK, ip_network("::1/128"))


@pytest.fixture(scope="module")
def served() -> Iterator[ToolServerProcess]:
    with running_tool_server() as server:
        yield server


def server_place(served: ToolServerProcess, **values: Any) -> ToolServerAddress:
    return replace(ToolServerAddress(served.url, {"Authorization": "Bearer s3cret"}, 10, 2_000, LOOPBACK), **values)


def call_server(at: ToolServerAddress, name: str, **arguments: object) -> ToolServerResult:
    return asyncio.run(call_tool(at, name, arguments, "the-key"))


@pytest.mark.parametrize(("old", "protocol"), [(False, "2026-07-28"), (True, "2025-11-25")])
def test_both_generations_of_the_protocol_list_and_call(served: ToolServerProcess, old: bool, protocol: str) -> None:
    at = server_place(served, url=served.old_url if old else served.url)
    listing = asyncio.run(list_tools(at))
    tools = {tool.name: tool for tool in listing.tools}
    assert listing.protocol == protocol
    assert tools["find_order"].is_read_only
    assert tools["note_down"].is_idempotent
    assert not tools["refund"].is_read_only
    assert tools["find_order"].input_schema["required"] == ["number"]
    assert call_server(at, "find_order", number="7") == ToolServerResult('{"number":"7","state":"sent"}')
    seen = served.seen()[-1]
    assert (seen["key"], seen["authorization"]) == ("the-key", "Bearer s3cret")


def test_a_call_is_one_question_and_the_shape_that_a_server_promises_is_not_run_here(
    served: ToolServerProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def relisted(*_: object, **__: object) -> None:
        raise MCPError(METHOD_NOT_FOUND, "No lists.")

    monkeypatch.setattr(ClientSession, "list_tools", relisted)
    assert call_server(server_place(served), "find_order", number="7").text == '{"number":"7","state":"sent"}'


def test_words_and_failures_of_a_tool_are_answers(served: ToolServerProcess) -> None:
    assert call_server(server_place(served), "say").text.startswith("Only words.")
    failed = call_server(server_place(served), "fail")
    assert failed.is_error
    assert "no such order" in failed.text
    assert call_server(server_place(served), "nothing_of_that_name").is_error


@pytest.mark.slow
def test_a_call_that_was_made_and_not_answered_in_time_is_lost(served: ToolServerProcess) -> None:
    with pytest.raises(OutcomeUnknown, match="in time"):
        call_server(server_place(served, timeout_seconds=1), "stall")


def test_an_answer_without_end_is_given_up_and_logged_nowhere(
    served: ToolServerProcess, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO), pytest.raises(OutcomeUnknown, match="longer than was agreed"):
        call_server(server_place(served), "brag", size=1_000_000)
    assert "xxxx" not in caplog.text
    assert "s3cret" not in caplog.text


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "2130706433", "0x7f.1", "[::ffff:127.0.0.1]"])
def test_no_spelling_of_an_inner_host_opens_a_socket(served: ToolServerProcess, host: str) -> None:
    before, port = len(served.seen()), served.base.rpartition(":")[2]
    with pytest.raises(CallNotSent):
        call_server(server_place(served, url=f"http://{host}:{port}/mcp", allowed=()), "say")
    assert len(served.seen()) == before


def test_a_name_that_resolves_to_an_inner_address_is_refused_where_the_socket_is_opened(
    served: ToolServerProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    def resolved(*_: object, **__: object) -> list[Any]:
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("169.254.169.254", 80))]

    monkeypatch.setattr(socket, "getaddrinfo", resolved)
    with pytest.raises(CallNotSent) as refusal:
        call_server(server_place(served, url="http://tools.example/mcp"), "say")
    assert str(refusal.value) == PRIVATE_ADDRESS


def test_names_are_looked_up_apart_from_whatever_else_waits_in_threads(served: ToolServerProcess) -> None:
    async def ask() -> ToolServerResult:
        ended = ThreadPoolExecutor(1)
        ended.shutdown()
        asyncio.get_running_loop().set_default_executor(ended)
        named = served.url.replace("127.0.0.1", "localhost")
        return await call_tool(server_place(served, url=named, allowed=LOOPBACK_NETWORKS), "say", {}, "k")

    assert asyncio.run(ask()).text.startswith("Only words.")


@pytest.mark.parametrize(("is_asked", "kind"), [(True, OutcomeUnknown), (False, CallNotSent)])
def test_an_address_refused_after_the_question_left_tells_nobody_what_became_of_it(
    is_asked: bool, kind: type[ToolServerFailed]
) -> None:
    async def refused() -> LimitedTransport:
        transport = LimitedTransport((), 1_000)
        with pytest.raises(httpx2.ConnectError):
            await transport.handle_async_request(httpx2.Request("POST", "http://127.0.0.1:9/"))
        await transport.aclose()
        return transport

    failure = _translate_failure(RuntimeError(), _Connection(asyncio.run(refused()), is_asked=is_asked))
    assert (type(failure), str(failure)) == (kind, PRIVATE_ADDRESS)


def test_a_proxy_of_the_machine_is_not_asked(served: ToolServerProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", served.base)
    monkeypatch.setenv("ALL_PROXY", served.base)
    with pytest.raises(CallNotSent):
        call_server(server_place(served, url="http://127.0.0.1:9/mcp"), "say")


def call_fixed_server(head: bytes, body: bytes = b"") -> Any:
    """What comes of a call at a server that answers everything so."""

    async def ask() -> ToolServerResult:
        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(b"HTTP/1.1 " + head + b"\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
            await writer.drain()
            writer.close()

        server = await asyncio.start_server(answer, "127.0.0.1")
        port = server.sockets[0].getsockname()[1]
        async with server:
            return await call_tool(
                ToolServerAddress(f"http://127.0.0.1:{port}", {}, 5, 2_000, LOOPBACK), "say", {}, "k"
            )

    return asyncio.run(ask())


@pytest.mark.parametrize(
    ("head", "body"),
    [
        (b"307 Temporary Redirect\r\nLocation: http://127.0.0.1:9/", b""),
        (b"200 OK\r\nContent-Type: application/json\r\nContent-Encoding: gzip", gzip.compress(b"{}" * 1_000_000)),
        (b"200 OK\r\nContent-Type: text/html", b"<p>Hello"),
        (b"200 OK\r\nContent-Type: application/json", b"{" * 100),
        (b"401 Unauthorized\r\nContent-Type: text/plain", b"s3cret"),
        (b"503 Service Unavailable\r\nContent-Type: text/plain", b""),
    ],
    ids=["redirect", "packed", "page", "no JSON", "not let in", "down"],
)
def test_what_does_not_speak_the_protocol_was_asked_nothing(head: bytes, body: bytes) -> None:
    with pytest.raises(CallNotSent) as refusal:
        call_fixed_server(head, body)
    assert "s3cret" not in str(refusal.value)
