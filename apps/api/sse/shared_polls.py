"""Everybody in one tenant who waits for the same news: one look into the database for all of them.

A look is one call in the thread that a web process keeps for looks; nothing is open between two of them.
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
# Where nothing happens, looks grow rare: each time by so much, until they are so far apart. What is heard brings them together.
POLL_BACKOFF: Final = 1.5
MAX_POLL_SECONDS: Final = 3.0
RESYNC_REASON: Final = (
    "What happened in between is too much to tell, or the id is none of this tenant's. Read the lists anew."
)


class DatabaseCaller(Protocol):
    """Where something is looked up, off the event loop."""

    async def __call__(self, call: Callable[[], Any]) -> Any:  # Any: whatever was looked up
        """What the call gives."""


class SharedPoll(ABC):
    """The readers of one tenant, and when they are looked for. What happens in a look is said by each kind of room."""

    def __init__(self, tenant_id: int, desk: DatabaseCaller) -> None:
        self.tenant_id = tenant_id
        self.readers: set[Subscriber] = set()
        self._desk = desk
        self._woken = asyncio.Event()
        self._pause = MAX_POLL_SECONDS

    def wake(self) -> None:
        """Something may have happened: look now."""
        self._woken.set()

    def leave(self, reader: Subscriber) -> None:
        """They hear no more."""
        self.readers.discard(reader)

    async def run(self) -> None:
        """Look, and look again, until nobody is left."""
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
        """Find what happened and tell it."""


@dataclass(frozen=True, slots=True)
class ReviewUpdates:
    """What was found behind a mark: for each who may see something of it, events and counts."""

    mark: InboxFeedCursor
    is_gap: bool
    told: Mapping[Actor, Sequence[tuple[int, bytes]]]
    waiting: Mapping[Actor, bytes]


class ReviewRoom(SharedPoll):
    """Those who follow what waits for people. Woken by the database; otherwise it looks rarely, and misses nothing."""

    mark: InboxFeedCursor | None = None

    def look_from(self, mark: InboxFeedCursor) -> None:
        """Let nobody miss what stands behind this place; what a reader heard already is not told again."""
        if self.mark is None or mark.position < self.mark.position:
            self.mark = mark
            self.wake()

    async def _poll(self) -> None:
        mark, actors = self.mark, {reader.actor for reader in self.readers}
        if mark is None or not actors:
            return
        news = await self._desk(lambda: review_updates_since(self.tenant_id, mark, actors))
        if self.mark is not mark:
            # Somebody came meanwhile who has to hear from an earlier place on.
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
    """One look for all of a tenant. Where nothing happened, nobody is asked for."""
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
    """How much waits, as an event; it stands for everything up to its mark."""
    return format_event("counts", waiting_counts(actor), mark)


class ConversationRoom(SharedPoll):
    """Those who follow conversations of a tenant: it is looked which of them moved on, and then only into those."""

    def __init__(self, tenant_id: int, desk: DatabaseCaller) -> None:
        super().__init__(tenant_id, desk)
        self._pause = POLL_SECONDS
        self._places: dict[Subscriber, tuple[int, ConversationFeedCursor]] = {}
        self._marks: dict[Subscriber, Hashable] = {}

    def follow(self, reader: Subscriber, conversation_id: int, place: ConversationFeedCursor) -> None:
        """Tell this reader what happens in the conversation behind the place."""
        self._places[reader] = (conversation_id, place)
        self.wake()

    def leave(self, reader: Subscriber) -> None:
        """They hear no more."""
        super().leave(reader)
        self._places.pop(reader, None)
        self._marks.pop(reader, None)

    def listeners(self, conversation_id: int) -> list[Subscriber]:
        """Who follows this conversation."""
        return [reader for reader, (followed, _) in self._places.items() if followed == conversation_id]

    def say(self, conversation_id: int, piece: bytes) -> None:
        """A piece of an answer was heard: what comes behind it is looked for as usual."""
        self._pause = POLL_SECONDS
        for reader in self.listeners(conversation_id):
            reader.preview(piece)

    async def _poll(self) -> None:
        # Whoever has not read what they were told is asked for later: what stands in the database waits for them.
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
        # What was told in part is asked for again.
        if not heard:
            self._marks[reader] = mark


def conversation_updates_since(
    conversation_id: int, place: ConversationFeedCursor, actor: Actor
) -> list[FeedEvent] | None:
    """What happened behind a place; None where it is not the actor's to see any more."""
    try:
        return events_since(conversation_id, place, actor=actor)
    except NotVisible:
        return None


def next_poll_pause(pause: float) -> float:
    """How long to wait behind a look that found nothing."""
    return min(pause * POLL_BACKOFF, MAX_POLL_SECONDS)
