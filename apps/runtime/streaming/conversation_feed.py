"""The feed of a conversation: its events after a cursor, in order, from the journal and the transcript."""

from collections.abc import Collection, Hashable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Self

from django.db.models import OuterRef, Q, Subquery

from apps.conversations.models import Conversation, Message
from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import acting_as
from apps.governance.errors import NotVisible
from apps.runtime.models import ToolStep, Turn
from apps.tenants.authentication.actor_resolution import system_actor

BATCH_SIZE = 100


@dataclass(frozen=True, slots=True)
class ConversationFeedCursor:
    """A position in the feed: the last message, tool step and turn event that a client has received."""

    message_id: int = 0
    step_id: int = 0
    turn_id: int = 0
    turn_status: str = ""

    def __str__(self) -> str:
        return f"{self.message_id}-{self.step_id}-{self.turn_id}-{self.turn_status}"

    @classmethod
    def read(cls, value: str) -> Self | None:
        """Parse a cursor; None if the value is not one."""
        parts = value.split("-")
        if len(parts) != 4 or not all(part.isascii() and part.isdecimal() and len(part) < 19 for part in parts[:3]):
            return None
        message_id, step_id, turn_id = map(int, parts[:3])
        return cls(message_id, step_id, turn_id, parts[3])


@dataclass(frozen=True, slots=True)
class FeedEvent:
    """An event of the feed, and the cursor after it."""

    event: str
    told: Mapping[str, object]
    place: ConversationFeedCursor


def current_cursor(conversation_id: int, *, actor: Actor) -> ConversationFeedCursor:
    """The cursor at the end of a conversation's feed. Raises NotVisible if the actor does not see the conversation."""
    with _visible_conversation(conversation_id, actor):
        messages = Message.objects.filter(conversation=conversation_id).order_by("-pk")
        steps = ToolStep.objects.filter(turn__conversation=conversation_id).order_by("-pk")
        turn = Turn.objects.filter(conversation=conversation_id).order_by("-pk").first()
        return ConversationFeedCursor(
            messages.values_list("pk", flat=True).first() or 0,
            steps.values_list("pk", flat=True).first() or 0,
            turn.pk if turn else 0,
            turn.status if turn else "",
        )


def events_since(conversation_id: int, place: ConversationFeedCursor, *, actor: Actor) -> list[FeedEvent]:
    """The events after a cursor: tool calls, replies, and turns that began or ended."""
    with _visible_conversation(conversation_id, actor):
        return list(_read_events(conversation_id, place))


def change_marks(conversation_ids: Collection[int], tenant_id: int) -> Mapping[int, Hashable]:
    """For each of a tenant's conversations, a mark that changes with every event of the conversation. Uses one query."""
    if not conversation_ids:
        return {}
    messages = Message.objects.filter(conversation=OuterRef("pk")).order_by("-pk").values("pk")
    steps = ToolStep.objects.filter(turn__conversation=OuterRef("pk")).order_by("-pk").values("pk")
    turns = Turn.objects.filter(conversation=OuterRef("pk")).order_by("-pk")
    newest = (Subquery(rows[:1]) for rows in (messages, steps, turns.values("pk"), turns.values("status")))
    with acting_as(system_actor(tenant_id)):
        rows = Conversation.objects.filter(tenant_id=tenant_id, pk__in=conversation_ids)
        return {row[0]: row[1:] for row in rows.values_list("pk", *newest)}


@contextmanager
def _visible_conversation(conversation_id: int, actor: Actor) -> Iterator[None]:
    with acting_as(actor):
        if not Conversation.objects.visible_to(actor).filter(pk=conversation_id).exists():
            raise NotVisible("There is no such conversation, or it is not yours to see.")
        yield


def _read_events(conversation_id: int, place: ConversationFeedCursor) -> Iterator[FeedEvent]:
    """A batch of events of each kind. Turns are read first but returned last, so that a turn's events precede its end."""
    moved_on = Turn.objects.filter(_turn_has_moved(place), conversation=conversation_id)
    turns = list(moved_on.order_by("pk")[:BATCH_SIZE])
    steps = ToolStep.objects.filter(turn__conversation=conversation_id, pk__gt=place.step_id).order_by("pk")[
        :BATCH_SIZE
    ]
    for step in steps:
        place = replace(place, step_id=step.pk)
        yield FeedEvent("tool", {"turn_id": step.turn_id, "name": step.name, "state": step.state}, place)
    if len(steps) == BATCH_SIZE:
        return
    replies = Message.objects.filter(conversation=conversation_id, is_reply=True, pk__gt=place.message_id)
    messages = replies.order_by("pk")[:BATCH_SIZE]
    for message in messages:
        place = replace(place, message_id=message.pk)
        yield FeedEvent("reply", _reply(message), place)
    if len(messages) == BATCH_SIZE:
        return
    for turn in turns:
        place = replace(place, turn_id=turn.pk, turn_status=turn.status)
        yield FeedEvent("turn", {"turn_id": turn.pk, "status": turn.status, "outcome": turn.outcome}, place)


def _turn_has_moved(place: ConversationFeedCursor) -> Q:
    return Q(pk__gt=place.turn_id) | Q(pk=place.turn_id) & ~Q(status=place.turn_status)


def _reply(message: Message) -> Mapping[str, object]:
    return {
        "message_id": message.pk,
        "turn_id": message.turn_id,
        "text": message.text,
        "sender": message.sender,
    }
