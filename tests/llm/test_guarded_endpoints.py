"""The guarded client over real sockets: what a name resolves to decides, and nobody is followed elsewhere."""

import asyncio
import socket
from collections.abc import Awaitable, Callable
from ipaddress import ip_network
from typing import Any

import pytest

from apps.llm.anthropic.async_client import guarded_backend_at
from apps.llm.model_backend import ConnectionLost, EndpointRefused, ModelReply, NotAuthorised
from apps.runtime.turn_store.claimed_endpoint import refuse_tenant_endpoint
from apps.runtime.worker.model_clients import ModelClients
from apps.standin.thread_server import run_standin_thread
from apps.tenants.endpoints.decrypted_endpoint import OpenedEndpoint
from tests.support.drivers.async_backend import HELLO
from tests.support.drivers.standin_http import requests_of

pytestmark = [pytest.mark.pure, pytest.mark.kernel]

LOOPBACK = (ip_network("127.0.0.0/8"), ip_network("::1/128"))
REDIRECT = b"HTTP/1.1 307 Temporary Redirect\r\nLocation: http://127.0.0.1:9/\r\nContent-Length: 0\r\n\r\n"


def ask_guarded(url: str, allowed: Any = ()) -> ModelReply:  # Any: networks of either version
    async def ask() -> ModelReply:
        backend = guarded_backend_at("a-key", url, connections=5, allowed=allowed)
        try:
            return await backend.complete(HELLO)
        finally:
            await backend.aclose()

    return asyncio.run(ask())


def test_an_allowed_network_is_reached() -> None:
    with run_standin_thread() as url:
        assert ask_guarded(url, LOOPBACK).text == "Hello. How can I help you?"


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "2130706433", "0x7f.1", "[::ffff:127.0.0.1]"])
def test_no_spelling_of_an_inner_host_opens_a_socket(host: str) -> None:
    with run_standin_thread() as url:
        with pytest.raises((EndpointRefused, ConnectionLost)):
            ask_guarded(f"http://{host}:{url.rpartition(':')[2]}")
        assert requests_of(url) == []


def test_a_name_that_resolves_to_an_inner_address_is_refused_where_the_socket_is_opened(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def resolved(*_: object, **__: object) -> list[Any]:
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("10.0.0.7", 80))]

    monkeypatch.setattr(socket, "getaddrinfo", resolved)
    with pytest.raises(EndpointRefused):
        ask_guarded("http://models.example")


def test_a_proxy_of_the_machine_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    with run_standin_thread() as proxy:
        monkeypatch.setenv("HTTP_PROXY", proxy)
        monkeypatch.setenv("ALL_PROXY", proxy)
        with pytest.raises((ConnectionLost, EndpointRefused)):
            ask_guarded("http://127.0.0.1:9", LOOPBACK)
        assert requests_of(proxy) == []


def test_a_redirect_is_not_followed() -> None:
    async def redirecting() -> None:
        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(REDIRECT)
            await writer.drain()
            writer.close()

        server = await asyncio.start_server(answer, "127.0.0.1")
        port = server.sockets[0].getsockname()[1]
        backend = guarded_backend_at("a-key", f"http://127.0.0.1:{port}", connections=1, allowed=LOOPBACK)
        async with server:
            with pytest.raises(EndpointRefused, match="redirect"):
                await backend.complete(HELLO)
        await backend.aclose()

    asyncio.run(redirecting())


class RecordingClient:
    """A client that says when it is closed."""

    def __init__(self, place: OpenedEndpoint | None, closed: list[int]) -> None:
        self.place, self.closed = place, closed

    async def complete(self, request: Any, listener: Any = None) -> ModelReply:  # Any: not asked
        raise ConnectionLost(f"Nobody asks here: {request} {listener}")

    async def aclose(self) -> None:
        self.closed.append(self.place.endpoint_id if self.place else 0)


def run_with_clients(work: Callable[[ModelClients], Awaitable[None]], closed: list[int], most: int) -> None:
    async def run() -> None:
        clients = ModelClients(
            lambda: RecordingClient(None, closed), lambda place: RecordingClient(place, closed), most=most
        )
        await work(clients)
        await clients.aclose()

    asyncio.run(run())


def make_destination(number: int, key: str = "k") -> OpenedEndpoint:
    return OpenedEndpoint(number, f"https://{number}.example", key)


def test_each_endpoint_has_one_client_and_only_so_many_idle_ones_are_kept() -> None:
    closed: list[int] = []

    async def work(clients: ModelClients) -> None:
        async with clients.at(make_destination(1)) as first, clients.at(None) as default_client:
            async with clients.at(make_destination(2)), clients.at(make_destination(1)) as again:
                assert first is again
                assert default_client is not first
            assert closed == [2]
            async with clients.at(make_destination(1, "rotated")) as other:
                assert other is not first
        async with clients.at(make_destination(3)):
            pass

    run_with_clients(work, closed, most=2)
    assert sorted(closed) == [0, 1, 1, 2, 3]


def test_a_process_that_knows_no_other_endpoints_says_so() -> None:
    async def work() -> None:
        clients = ModelClients(lambda: RecordingClient(None, []), refuse_tenant_endpoint)
        with pytest.raises(NotAuthorised):
            async with clients.at(make_destination(1)):
                pass

    asyncio.run(work())
