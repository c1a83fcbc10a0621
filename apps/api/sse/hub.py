"""All streams of a web process: however many there are, they share one connection that hears the database, one that looks into it,
and one to the broker. It stands as long as somebody follows something.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from contextvars import Context
from typing import Any, Final, TypeVar

from django.db import Error, connection
from rest_framework.exceptions import APIException

from apps.api.sse.postgres_listen import notifications
from apps.api.sse.pubsub import Ether
from apps.api.sse.shared_polls import ReviewRoom, Room, ThreadsRoom
from apps.api.sse.shutdown import when_leaving
from apps.api.sse.stream_limits import Seats
from apps.api.sse.stream_requests import credential_of, who_asks
from apps.api.sse.subscriber import Reader, Why
from apps.governance.actors import Actor
from apps.governance.errors import GovernanceError
from apps.runtime.streaming.reply_pubsub import HOLDS_SECONDS
from apps.telemetry.product_metrics import STREAMS
from apps.tenants.authentication.credential_recheck import still_standing

logger = logging.getLogger(__name__)

# Whoever loses their token, their session or their place in the tenant hears no more after that.
STANDING_SECONDS: Final = 1.0
# And so often everything is asked anew that a request is asked, such as for a second factor; so many of them at once.
ONCE_MORE_SECONDS: Final = HOLDS_SECONDS / 3
ASKED_AT_ONCE: Final = 50

R = TypeVar("R", bound=Room)
Result = TypeVar("Result")

seats = Seats()


class Hub:
    """The readers of one process and what serves them. Used by the event loop alone."""

    def __init__(self) -> None:
        self.readers: set[Reader] = set()
        self._rooms: dict[tuple[type[Room], int], Room] = {}
        self._running: dict[object, asyncio.Task[None]] = {}
        self._ether = Ether(self._said)
        self._thread: ThreadPoolExecutor | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    def enter(self, kind: type[R], reader: Reader) -> R:
        """The room of the reader's tenant, with the reader in it."""
        if self._loop is not asyncio.get_running_loop():
            self._stand()
        self.readers.add(reader)
        STREAMS.set(len(self.readers))
        key = (kind, reader.actor.tenant_id)
        if key not in self._rooms:
            self._rooms[key] = kind(reader.actor.tenant_id, self.desk)
            self._run(key, self._rooms[key].run())
        room: Any = self._rooms[key]  # Any: of the kind that was asked for
        room.readers.add(reader)
        found: R = room
        return found

    def follow(self, conversation_id: int) -> None:
        """Hear what is said in the conversation while it is said."""
        self._ether.follow(conversation_id)

    def leave(self, reader: Reader, conversation_id: int | None = None) -> None:
        """The stream has ended; what nobody needs any more goes with it."""
        seats.leave(reader.seat)
        self.readers.discard(reader)
        STREAMS.set(len(self.readers))
        for key, room in list(self._rooms.items()):
            room.leave(reader)
            if not room.readers:
                del self._rooms[key]
                self._running.pop(key).cancel()
        if conversation_id is not None:
            self._ether.leave(conversation_id)
        if not self.readers:
            self._fall()

    def end(self) -> None:
        """The process is about to end: everybody is told so, and comes again elsewhere."""
        for reader in list(self.readers):
            reader.end(Why.SHUTDOWN)

    async def desk(self, call: Callable[[], Result]) -> Result:
        """Look something up in the one thread, with the one connection, that are kept for it."""
        if self._thread is None:
            self._thread = ThreadPoolExecutor(1, "streams")
        return await asyncio.get_running_loop().run_in_executor(self._thread, lambda: _looked(call))

    def _stand(self) -> None:
        self._fall()
        self._loop = asyncio.get_running_loop()
        when_leaving(self._loop, self.end)
        self._run("notified", notifications(self._notified))
        self._run("standing", self._stand_by())
        self._run("ether", self._ether.run())

    def _fall(self) -> None:
        """Nobody is left. A loop that is closed took its tasks along."""
        if self._loop is not None and not self._loop.is_closed():
            for task in self._running.values():
                task.cancel()
        self.readers, self._rooms, self._running, self._loop = set(), {}, {}, None
        STREAMS.set(0)
        self._ether.forget()
        if self._thread is not None:
            self._thread.submit(_let_go_of_the_database)
            self._thread.shutdown(wait=False)
            self._thread = None

    def _run(self, key: object, work: Coroutine[Any, Any, None]) -> None:
        # In a context of its own: it serves all readers, and not the request it began with.
        self._running[key] = asyncio.get_running_loop().create_task(work, context=Context())

    def _notified(self, tenant_id: int | None) -> None:
        """Something became of what waits in a tenant; None: nobody knows where, for nobody listened."""
        for (kind, room_tenant_id), room in self._rooms.items():
            if kind is ReviewRoom and tenant_id in {None, room_tenant_id}:
                room.wake()

    def _said(self, conversation_id: int, piece: bytes) -> None:
        for (kind, _), room in self._rooms.items():
            if kind is ThreadsRoom and isinstance(room, ThreadsRoom):
                room.say(conversation_id, piece)

    async def _stand_by(self) -> None:
        """Ask again and again whether those who came in may still."""
        while True:
            await asyncio.sleep(STANDING_SECONDS)
            with suppress(Error):
                await self._let_go()
                await self._ask_anew()

    async def _let_go(self) -> None:
        asked = {reader.standing for reader in self.readers}
        standing = await self.desk(lambda: still_standing(asked))
        for reader in list(self.readers):
            if reader.standing in asked - standing:
                reader.end(Why.ACCESS_LOST)

    async def _ask_anew(self) -> None:
        now = time.monotonic()
        due = [reader for reader in self.readers if now - reader.known_at > ONCE_MORE_SECONDS]
        of_one: dict[str, list[Reader]] = {}
        for reader in due:
            of_one.setdefault(credential_of(reader.request), []).append(reader)
        for readers in list(of_one.values())[:ASKED_AT_ONCE]:
            actor = await self.desk(lambda: _actor_now(readers[0]))  # noqa: B023  # awaited here
            for reader in readers:
                reader.known_at = now
                if actor is None:
                    reader.end(Why.ACCESS_LOST)
                else:
                    reader.actor = actor


def _actor_now(reader: Reader) -> Actor | None:
    try:
        actor = who_asks(reader.request)
    except (APIException, GovernanceError):
        return None
    return actor if actor.tenant_id == reader.actor.tenant_id else None


def _looked(call: Callable[[], Result]) -> Result:
    """The connection is kept for the next look, unless a pool keeps it, or it is good for nothing any more."""
    try:
        result = call()
    except Error:
        connection.close()
        raise
    if "pool" in connection.settings_dict["OPTIONS"]:
        connection.close()
    return result


def _let_go_of_the_database() -> None:
    """Looked up in the thread that calls it: each has a connection of its own."""
    connection.close()


hub = Hub()
