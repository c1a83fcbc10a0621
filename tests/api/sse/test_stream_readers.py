"""One reader of a stream: what it is told, when it is let go, and when it is hung up on."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from django.http import HttpRequest

from apps.api.sse import slow_clients, subscriber
from apps.api.sse.slow_clients import SendWithTimeout
from apps.api.sse.stream_limits import StreamSlot
from apps.api.sse.subscriber import QUEUE_EVENTS, StreamEndReason, Subscriber, format_end, format_event, heartbeat
from apps.tenants.authentication.credential_recheck import HeldCredential
from tests.support.worlds.world import World, make_world


def run_story(story: Callable[[], Awaitable[None]]) -> None:
    async def told() -> None:
        async with asyncio.timeout(60):
            await story()

    asyncio.run(told())


def make_reader(world: World) -> Subscriber:
    return Subscriber(
        world.bot, HeldCredential(world.tenant.pk, "agent", "x"), HttpRequest(), StreamSlot(world.tenant.pk)
    )


def test_a_reader_who_is_too_slow_is_let_go_with_a_reason_and_holds_nothing(db: None) -> None:
    world = make_world()

    async def story() -> None:
        slow, quick = make_reader(world), make_reader(world)
        heard, pieces = [], aiter(quick.pieces())
        for number in range(1, QUEUE_EVENTS + 3):
            for reader in (slow, quick):
                reader.tell(format_event("proposal", {}, number), number)
            heard.append(await anext(pieces))
        assert len(heard) == QUEUE_EVENTS + 2
        assert (slow.why, quick.why) == (StreamEndReason.SLOW_CLIENT, None)
        assert [piece async for piece in slow.pieces()] == [format_end(StreamEndReason.SLOW_CLIENT)]

    run_story(story)


def test_a_quiet_stream_says_that_it_is_there_and_up_to_where_nothing_happened(
    db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(subscriber, "HEARTBEAT_SECONDS", 0.05)
    monkeypatch.setattr(subscriber, "MAX_STREAM_SECONDS", 0.12)
    world = make_world()

    async def story() -> None:
        reader = make_reader(world)
        reader.mark = "7-0123abcd"
        pieces = [piece async for piece in reader.pieces()]
        assert pieces == [*[heartbeat("7-0123abcd")] * (len(pieces) - 1), format_end(StreamEndReason.MAX_DURATION)]
        assert len(pieces) > 1

    run_story(story)


def test_a_reader_who_takes_nothing_any_more_is_hung_up_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slow_clients, "STALLED_SECONDS", 0.05)

    class Server:
        """A server whose client stopped reading after so many messages."""

        def __init__(self) -> None:
            self.transport, self.is_aborted, self.taken = self, False, 0

        def abort(self) -> None:
            self.is_aborted = True

        async def send(self, _: Any) -> None:
            self.taken += 1
            if self.taken > 2:
                await asyncio.Event().wait()

    async def story() -> None:
        server = Server()
        send = SendWithTimeout(server.send)
        await send({"type": "http.response.start", "headers": [(b"content-type", b"text/event-stream")]})
        await send({"type": "http.response.body", "body": b"x"})
        assert not server.is_aborted
        await send({"type": "http.response.body", "body": b"x"})
        assert server.is_aborted

    run_story(story)
