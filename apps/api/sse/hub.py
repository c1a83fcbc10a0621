"""The hub of all streams in a web process, which runs while any stream is open.

All streams share one connection that listens to the database, one that queries it, and one to the broker.
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

from apps.api.sse.postgres_listen import listen_for_review_changes
from apps.api.sse.pubsub import ConversationPubSub
from apps.api.sse.shared_polls import ConversationRoom, ReviewRoom, SharedPoll
from apps.api.sse.shutdown import on_shutdown
from apps.api.sse.stream_limits import StreamSlots
from apps.api.sse.stream_requests import authenticate_stream, credential_hash
from apps.api.sse.subscriber import StreamEndReason, Subscriber
from apps.governance.actors import Actor
from apps.governance.errors import GovernanceError
from apps.runtime.streaming.reply_pubsub import LISTENING_SECONDS
from apps.telemetry.product_metrics import STREAMS
from apps.tenants.authentication.credential_recheck import still_valid

logger = logging.getLogger(__name__)

# Seconds between checks of credentials: a reader whose token, session or membership has ended gets no more events.
RECHECK_SECONDS: Final = 1.0
# Seconds between full authentications of open streams, including the second factor, and the number of streams per round.
REAUTHENTICATE_SECONDS: Final = LISTENING_SECONDS / 3
REAUTHENTICATE_BATCH: Final = 50

R = TypeVar("R", bound=SharedPoll)
Result = TypeVar("Result")

stream_slots = StreamSlots()


class StreamHub:
    """The open streams of one process, and the tasks that serve them. Used by the event loop only."""

    def __init__(self) -> None:
        self.readers: set[Subscriber] = set()
        self._rooms: dict[tuple[type[SharedPoll], int], SharedPoll] = {}
        self._running: dict[object, asyncio.Task[None]] = {}
        self._ether = ConversationPubSub(self._relay_piece)
        self._thread: ThreadPoolExecutor | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    def enter(self, kind: type[R], reader: Subscriber) -> R:
        """Add the reader to the shared poll of its tenant, and return that poll."""
        if self._loop is not asyncio.get_running_loop():
            self._start()
        self.readers.add(reader)
        STREAMS.set(len(self.readers))
        key = (kind, reader.actor.tenant_id)
        if key not in self._rooms:
            self._rooms[key] = kind(reader.actor.tenant_id, self.desk)
            self._start_task(key, self._rooms[key].run())
        shared_poll: Any = self._rooms[key]  # Any: an instance of the requested kind
        shared_poll.readers.add(reader)
        found: R = shared_poll
        return found

    def follow(self, conversation_id: int) -> None:
        """Subscribe to the reply text of a conversation while it is being written."""
        self._ether.follow(conversation_id)

    def leave(self, reader: Subscriber, conversation_id: int | None = None) -> None:
        """Remove a reader whose stream has ended, and stop the tasks that no reader needs any more."""
        stream_slots.leave(reader.seat)
        self.readers.discard(reader)
        STREAMS.set(len(self.readers))
        for key, shared_poll in list(self._rooms.items()):
            shared_poll.leave(reader)
            if not shared_poll.readers:
                del self._rooms[key]
                self._running.pop(key).cancel()
        if conversation_id is not None:
            self._ether.leave(conversation_id)
        if not self.readers:
            self._stop()

    def end(self) -> None:
        """End all streams because the process is shutting down; the clients reconnect to another process."""
        for reader in list(self.readers):
            reader.end(StreamEndReason.SHUTDOWN)

    async def desk(self, call: Callable[[], Result]) -> Result:
        """Run a query in the hub's own thread, on the hub's one database connection."""
        if self._thread is None:
            self._thread = ThreadPoolExecutor(1, "streams")
        return await asyncio.get_running_loop().run_in_executor(self._thread, lambda: _run_query(call))

    def _start(self) -> None:
        self._stop()
        self._loop = asyncio.get_running_loop()
        on_shutdown(self._loop, self.end)
        self._start_task("notified", listen_for_review_changes(self._wake_review_rooms))
        self._start_task("standing", self._watch_access())
        self._start_task("ether", self._ether.run())

    def _stop(self) -> None:
        """Stop the tasks after the last reader has left. If the loop is closed, its tasks have already ended."""
        if self._loop is not None and not self._loop.is_closed():
            for task in self._running.values():
                task.cancel()
        self.readers, self._rooms, self._running, self._loop = set(), {}, {}, None
        STREAMS.set(0)
        self._ether.forget()
        if self._thread is not None:
            self._thread.submit(_close_connection)
            self._thread.shutdown(wait=False)
            self._thread = None

    def _start_task(self, key: object, work: Coroutine[Any, Any, None]) -> None:
        # In a separate context, because the task serves all readers, not only the request that started it.
        self._running[key] = asyncio.get_running_loop().create_task(work, context=Context())

    def _wake_review_rooms(self, tenant_id: int | None) -> None:
        """Wake the review polls of a tenant, or of all tenants (None) if notifications may have been missed."""
        for (kind, room_tenant_id), shared_poll in self._rooms.items():
            if kind is ReviewRoom and tenant_id in {None, room_tenant_id}:
                shared_poll.wake()

    def _relay_piece(self, conversation_id: int, piece: bytes) -> None:
        for (kind, _), shared_poll in self._rooms.items():
            if kind is ConversationRoom and isinstance(shared_poll, ConversationRoom):
                shared_poll.say(conversation_id, piece)

    async def _watch_access(self) -> None:
        """Check repeatedly whether the readers still have access."""
        while True:
            await asyncio.sleep(RECHECK_SECONDS)
            with suppress(Error):
                await self._end_revoked()
                await self._reauthenticate()

    async def _end_revoked(self) -> None:
        asked = {reader.standing for reader in self.readers}
        standing = await self.desk(lambda: still_valid(asked))
        for reader in list(self.readers):
            if reader.standing in asked - standing:
                reader.end(StreamEndReason.ACCESS_LOST)

    async def _reauthenticate(self) -> None:
        now = time.monotonic()
        due = [reader for reader in self.readers if now - reader.known_at > REAUTHENTICATE_SECONDS]
        of_one: dict[str, list[Subscriber]] = {}
        for reader in due:
            of_one.setdefault(credential_hash(reader.request), []).append(reader)
        for readers in list(of_one.values())[:REAUTHENTICATE_BATCH]:
            actor = await self.desk(lambda: _reauthenticated_actor(readers[0]))  # noqa: B023  # awaited here
            for reader in readers:
                reader.known_at = now
                if actor is None:
                    reader.end(StreamEndReason.ACCESS_LOST)
                else:
                    reader.actor = actor


def _reauthenticated_actor(reader: Subscriber) -> Actor | None:
    try:
        actor = authenticate_stream(reader.request)
    except (APIException, GovernanceError):
        return None
    return actor if actor.tenant_id == reader.actor.tenant_id else None


def _run_query(call: Callable[[], Result]) -> Result:
    """Run a query. The connection is kept for the next query, unless a pool manages it or the query failed."""
    try:
        result = call()
    except Error:
        connection.close()
        raise
    if "pool" in connection.settings_dict["OPTIONS"]:
        connection.close()
    return result


def _close_connection() -> None:
    """Close the connection of the current thread; each thread has its own."""
    connection.close()


hub = StreamHub()
