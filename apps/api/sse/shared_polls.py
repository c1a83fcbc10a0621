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

from apps.api.sse.subscriber import Reader, Why, event
from apps.governance.actors import Actor
from apps.governance.errors import NotVisible
from apps.review.inbox_feed import Mark, behind, counts, newest_mark, seen_by
from apps.runtime.streaming.conversation_feed import Heard, Place, marks_of, since

logger = logging.getLogger(__name__)

LOOK_SECONDS: Final = 0.5
# Where nothing happens, looks grow rare: each time by so much, until they are so far apart. What is heard brings them together.
LESS_OFTEN: Final = 1.5
RAREST_LOOK_SECONDS: Final = 3.0
READ_ANEW: Final = (
    "What happened in between is too much to tell, or the id is none of this tenant's. Read the lists anew."
)


class Desk(Protocol):
    """Where something is looked up, off the event loop."""

    async def __call__(self, call: Callable[[], Any]) -> Any:  # Any: whatever was looked up
        """What the call gives."""


class Room(ABC):
    """The readers of one tenant, and when they are looked for. What happens in a look is said by each kind of room."""

    def __init__(self, tenant_id: int, desk: Desk) -> None:
        self.tenant_id = tenant_id
        self.readers: set[Reader] = set()
        self._desk = desk
        self._woken = asyncio.Event()
        self._pause = RAREST_LOOK_SECONDS

    def wake(self) -> None:
        """Something may have happened: look now."""
        self._woken.set()

    def leave(self, reader: Reader) -> None:
        """They hear no more."""
        self.readers.discard(reader)

    async def run(self) -> None:
        """Look, and look again, until nobody is left."""
        while True:
            try:
                await self._look()
            except Error as error:
                logger.warning("a look for streams failed", extra={"error": type(error).__name__})
            try:
                async with asyncio.timeout(self._pause):
                    await self._woken.wait()
            except TimeoutError:
                continue
            self._woken.clear()

    @abstractmethod
    async def _look(self) -> None:
        """Find what happened and tell it."""


@dataclass(frozen=True, slots=True)
class News:
    """What was found behind a mark: for each who may see something of it, events and counts."""

    mark: Mark
    is_gap: bool
    told: Mapping[Actor, Sequence[tuple[int, bytes]]]
    waiting: Mapping[Actor, bytes]


class ReviewRoom(Room):
    """Those who follow what waits for people. Woken by the database; otherwise it looks rarely, and misses nothing."""

    mark: Mark | None = None

    def look_from(self, mark: Mark) -> None:
        """Let nobody miss what stands behind this place; what a reader heard already is not told again."""
        if self.mark is None or mark.position < self.mark.position:
            self.mark = mark
            self.wake()

    async def _look(self) -> None:
        mark, actors = self.mark, {reader.actor for reader in self.readers}
        if mark is None or not actors:
            return
        news = await self._desk(lambda: news_behind(self.tenant_id, mark, actors))
        if self.mark is not mark:
            # Somebody came meanwhile who has to hear from an earlier place on.
            self.wake()
            return
        self.mark = news.mark
        for reader in self.readers:
            _tell(reader, news)


def _tell(reader: Reader, news: News) -> None:
    if news.is_gap:
        reader.heard = 0
        reader.tell(event("resync", {"reason": READ_ANEW}, news.mark))
    for position, piece in news.told.get(reader.actor, ()):
        reader.tell(piece, position)
    reader.mark = str(news.mark)
    reader.heard = max(reader.heard, news.mark.position)
    if counted := news.waiting.get(reader.actor):
        reader.preview(counted)


def news_behind(tenant_id: int, mark: Mark, actors: Iterable[Actor]) -> News:
    """One look for all of a tenant. Where nothing happened, nobody is asked for."""
    found = behind(tenant_id, mark)
    if found is None:
        now = newest_mark(tenant_id)
        return News(now, True, {}, {actor: waiting(actor, now) for actor in actors})
    told, counted = {}, {}
    for actor in actors if found.entries else ():
        seen = seen_by(found.entries, actor)
        told[actor] = [(each.mark.position, event(each.noun, each.about, each.mark)) for each in seen]
        if seen:
            counted[actor] = waiting(actor, found.mark)
    return News(found.mark, False, told, counted)


def waiting(actor: Actor, mark: Mark) -> bytes:
    """How much waits, as an event; it stands for everything up to its mark."""
    return event("counts", counts(actor), mark)


class ThreadsRoom(Room):
    """Those who follow conversations of a tenant: it is looked which of them moved on, and then only into those."""

    def __init__(self, tenant_id: int, desk: Desk) -> None:
        super().__init__(tenant_id, desk)
        self._pause = LOOK_SECONDS
        self._places: dict[Reader, tuple[int, Place]] = {}
        self._marks: dict[Reader, Hashable] = {}

    def follow(self, reader: Reader, conversation_id: int, place: Place) -> None:
        """Tell this reader what happens in the conversation behind the place."""
        self._places[reader] = (conversation_id, place)
        self.wake()

    def leave(self, reader: Reader) -> None:
        """They hear no more."""
        super().leave(reader)
        self._places.pop(reader, None)
        self._marks.pop(reader, None)

    def listeners(self, conversation_id: int) -> list[Reader]:
        """Who follows this conversation."""
        return [reader for reader, (followed, _) in self._places.items() if followed == conversation_id]

    def say(self, conversation_id: int, piece: bytes) -> None:
        """A piece of an answer was heard: what comes behind it is looked for as usual."""
        self._pause = LOOK_SECONDS
        for reader in self.listeners(conversation_id):
            reader.preview(piece)

    async def _look(self) -> None:
        # Whoever has not read what they were told is asked for later: what stands in the database waits for them.
        ready = {reader: place for reader, place in self._places.items() if reader.is_free and reader.why is None}
        asked = {conversation_id for conversation_id, _ in ready.values()}
        marks = await self._desk(lambda: marks_of(asked, self.tenant_id))
        moved: dict[tuple[int, Place, Actor], list[Reader]] = defaultdict(list)
        for reader, (conversation_id, place) in ready.items():
            if self._marks.get(reader) != marks.get(conversation_id, ()):
                moved[conversation_id, place, reader.actor].append(reader)
        self._pause = LOOK_SECONDS if moved else pause_behind(self._pause)
        for (conversation_id, place, actor), readers in moved.items():
            heard = await self._desk(lambda: heard_behind(conversation_id, place, actor))  # noqa: B023  # awaited here
            for reader in readers:
                self._told(reader, heard, marks.get(conversation_id, ()))

    def _told(self, reader: Reader, heard: list[Heard] | None, mark: Hashable) -> None:
        if reader not in self._places:
            return
        if heard is None:
            reader.end(Why.ACCESS_LOST)
            return
        for each in heard:
            reader.tell(event(each.event, each.told, each.place))
            self._places[reader] = (self._places[reader][0], each.place)
        # What was told in part is asked for again.
        if not heard:
            self._marks[reader] = mark


def heard_behind(conversation_id: int, place: Place, actor: Actor) -> list[Heard] | None:
    """What happened behind a place; None where it is not the actor's to see any more."""
    try:
        return since(conversation_id, place, actor=actor)
    except NotVisible:
        return None


def pause_behind(pause: float) -> float:
    """How long to wait behind a look that found nothing."""
    return min(pause * LESS_OFTEN, RAREST_LOOK_SECONDS)
