"""One database poll for all readers of a tenant that wait for the same events.

A poll is one call in the web process's thread for polls. No transaction is open between two polls.
"""

import asyncio
import logging
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

from django.db import Error

from apps.api.sse.subscriber import StreamEndReason, Subscriber, format_event
from apps.governance.actors import Actor
from apps.governance.errors import NotVisible
from apps.review.inbox_feed import InboxFeedCursor, items_visible_to, newest_cursor, read_feed_page, waiting_counts
from apps.runtime.streaming.conversation_feed import ConversationFeedCursor, FeedEvent, change_marks, events_since

logger = logging.getLogger(__name__)

POLL_SECONDS: Final = 0.5
# While nothing changes, the pause between polls grows by this factor up to its limit. A notification resets it.
POLL_BACKOFF: Final = 1.5
MAX_POLL_SECONDS: Final = 3.0
RESYNC_REASON: Final = "Too much happened since this id, or the id is not of this tenant. Read the lists again."


class DatabaseCaller(Protocol):
    """Runs a query off the event loop."""

    async def __call__(self, call: Callable[[], Any]) -> Any:  # Any: the result of the call
        """Return the result of the call."""


class SharedPoll(ABC):
    """The readers of one tenant, and the timing of their polls. Subclasses define what a poll does."""

    def __init__(self, tenant_id: int, desk: DatabaseCaller) -> None:
        self.tenant_id = tenant_id
        self.readers: set[Subscriber] = set()
        self._desk = desk
        self._woken = asyncio.Event()
        self._pause = MAX_POLL_SECONDS

    def wake(self) -> None:
        """Poll now, because something may have changed."""
        self._woken.set()

    def leave(self, reader: Subscriber) -> None:
        """Remove a reader."""
        self.readers.discard(reader)

    async def run(self) -> None:
        """Poll until no reader is left."""
        while True:
            try:
                await self._poll()
            except Error as error:
                logger.warning("stream poll failed", extra={"error": type(error).__name__})
            try:
                async with asyncio.timeout(self._pause):
                    await self._woken.wait()
            except TimeoutError:
                continue
            self._woken.clear()

    @abstractmethod
    async def _poll(self) -> None:
        """Find new events and send them."""


@dataclass(frozen=True, slots=True)
class ReviewUpdates:
    """Changes after a cursor: the events and counts for each actor who may see any of them."""

    mark: InboxFeedCursor
    is_gap: bool
    told: Mapping[Actor, Sequence[tuple[int, bytes]]]
    waiting: Mapping[Actor, bytes]


class ReviewRoom(SharedPoll):
    """The readers of the review stream. Notifications wake the poll; without them it runs rarely."""

    mark: InboxFeedCursor | None = None

    def look_from(self, mark: InboxFeedCursor) -> None:
        """Poll from an earlier cursor, so that a new reader misses nothing. Other readers skip events that they already have."""
        if self.mark is None or mark.position < self.mark.position:
            self.mark = mark
            self.wake()

    async def _poll(self) -> None:
        mark, actors = self.mark, {reader.actor for reader in self.readers}
        if mark is None or not actors:
            return
        news = await self._desk(lambda: review_updates_since(self.tenant_id, mark, actors))
        if self.mark is not mark:
            # A reader has joined meanwhile and needs events from an earlier cursor on.
            self.wake()
            return
        self.mark = news.mark
        for reader in self.readers:
            _send_updates(reader, news)


def _send_updates(reader: Subscriber, news: ReviewUpdates) -> None:
    if news.is_gap:
        reader.heard = 0
        reader.tell(format_event("resync", {"reason": RESYNC_REASON}, news.mark))
    for position, piece in news.told.get(reader.actor, ()):
        reader.tell(piece, position)
    reader.mark = str(news.mark)
    reader.heard = max(reader.heard, news.mark.position)
    if counted := news.waiting.get(reader.actor):
        reader.preview(counted)


def review_updates_since(tenant_id: int, mark: InboxFeedCursor, actors: Iterable[Actor]) -> ReviewUpdates:
    """Read the changes of a tenant once for all actors. If nothing changed, no further query is made."""
    found = read_feed_page(tenant_id, mark)
    if found is None:
        now = newest_cursor(tenant_id)
        return ReviewUpdates(now, True, {}, {actor: counts_event(actor, now) for actor in actors})
    events, counted = {}, {}
    for actor in actors if found.entries else ():
        seen = items_visible_to(found.entries, actor)
        events[actor] = [(each.mark.position, format_event(each.noun, each.about, each.mark)) for each in seen]
        if seen:
            counted[actor] = counts_event(actor, found.mark)
    return ReviewUpdates(found.mark, False, events, counted)


def counts_event(actor: Actor, mark: InboxFeedCursor) -> bytes:
    """Return the event with the current counts. Its id covers every event up to the cursor."""
    return format_event("counts", waiting_counts(actor), mark)


class ConversationRoom(SharedPoll):
    """The readers of conversation streams in a tenant.

    A poll first finds the conversations that have changed, and then reads only these.
    """

    def __init__(self, tenant_id: int, desk: DatabaseCaller) -> None:
        super().__init__(tenant_id, desk)
        self._pause = POLL_SECONDS
        self._places: dict[Subscriber, tuple[int, ConversationFeedCursor]] = {}
        self._marks: dict[Subscriber, Hashable] = {}

    def follow(self, reader: Subscriber, conversation_id: int, place: ConversationFeedCursor) -> None:
        """Send this reader the conversation's events after the cursor."""
        self._places[reader] = (conversation_id, place)
        self.wake()

    def leave(self, reader: Subscriber) -> None:
        """Remove a reader."""
        super().leave(reader)
        self._places.pop(reader, None)
        self._marks.pop(reader, None)

    def listeners(self, conversation_id: int) -> list[Subscriber]:
        """Return the readers that follow this conversation."""
        return [reader for reader, (followed, _) in self._places.items() if followed == conversation_id]

    def say(self, conversation_id: int, piece: bytes) -> None:
        """Send a piece of reply text, and poll soon for the events that follow it."""
        self._pause = POLL_SECONDS
        for reader in self.listeners(conversation_id):
            reader.preview(piece)

    async def _poll(self) -> None:
        # A reader with unread events is skipped until later; its next events stay in the database.
        ready = {reader: place for reader, place in self._places.items() if reader.is_free and reader.why is None}
        asked = {conversation_id for conversation_id, _ in ready.values()}
        marks = await self._desk(lambda: change_marks(asked, self.tenant_id))
        moved: dict[tuple[int, ConversationFeedCursor, Actor], list[Subscriber]] = defaultdict(list)
        for reader, (conversation_id, place) in ready.items():
            if self._marks.get(reader) != marks.get(conversation_id, ()):
                moved[conversation_id, place, reader.actor].append(reader)
        self._pause = POLL_SECONDS if moved else next_poll_pause(self._pause)
        for (conversation_id, place, actor), readers in moved.items():
            heard = await self._desk(lambda: conversation_updates_since(conversation_id, place, actor))  # noqa: B023  # awaited here
            for reader in readers:
                self._send_feed_events(reader, heard, marks.get(conversation_id, ()))

    def _send_feed_events(self, reader: Subscriber, heard: list[FeedEvent] | None, mark: Hashable) -> None:
        if reader not in self._places:
            return
        if heard is None:
            reader.end(StreamEndReason.ACCESS_LOST)
            return
        for each in heard:
            reader.tell(format_event(each.event, each.told, each.place))
            self._places[reader] = (self._places[reader][0], each.place)
        # If only some of the events were returned, the reader is polled again.
        if not heard:
            self._marks[reader] = mark


def conversation_updates_since(
    conversation_id: int, place: ConversationFeedCursor, actor: Actor
) -> list[FeedEvent] | None:
    """Return the events after a cursor; None if the actor may no longer see the conversation."""
    try:
        return events_since(conversation_id, place, actor=actor)
    except NotVisible:
        return None


def next_poll_pause(pause: float) -> float:
    """Return the pause after a poll that found nothing."""
    return min(pause * POLL_BACKOFF, MAX_POLL_SECONDS)
