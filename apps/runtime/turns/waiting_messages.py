"""Messages that wait for their answer: they are shown before the transcript has them, and written early if a turn is delayed.

A turn writes its messages into the transcript when it ends. Until then, `waiting_events` has them, so that people and programs see
a message from the moment it is committed. `write_to_transcript` writes them earlier: before a delay notice, and before a person
answers in place of a turn.
"""

from collections.abc import Iterable, Sequence

from django.db.models import Q, QuerySet

from apps.conversations.models import Conversation, InboundEvent, Message
from apps.runtime.models import Turn
from apps.runtime.turn_store.journal_rows import SENDERS
from apps.runtime.turns.blocked_turns import is_blocked


def waiting_events(conversation: Conversation) -> QuerySet[InboundEvent]:
    """The events that the transcript does not have: no turn has taken them yet, or their turn still runs."""
    running = Turn.objects.filter(conversation=conversation, status=Turn.Status.RUNNING)
    is_unanswered = Q(turn_id=None) | Q(turn_id__in=running.values("pk"))
    return InboundEvent.objects.filter(is_unanswered, conversation=conversation, is_in_transcript=False).order_by("pk")


def delayed_turn(conversation: Conversation) -> Turn | None:
    """The turn of the conversation that waits for a person, a budget or an endpoint, if there is one."""
    running = Turn.objects.filter(conversation=conversation, status=Turn.Status.RUNNING)
    turn = running.select_related("delay_notice").first()
    return turn if turn is not None and is_blocked(turn) else None


def conversation_length(conversation: Conversation) -> int:
    """The number of messages in a conversation, with those that wait, by which `write_to_customer` checks that a person saw all.

    Writing a waiting message into the transcript does not change the number. Results of tools are not counted.
    """
    return waiting_events(conversation).count() + conversation.messages.exclude(sender=Message.Sender.TOOL).count()


def write_to_transcript(conversation: Conversation, events: Sequence[InboundEvent]) -> None:
    """Write events into the transcript before their turn ends. The caller has the conversation locked."""
    missing = [event for event in events if not event.is_in_transcript]
    Message.objects.bulk_create(_message_rows(conversation, missing))
    InboundEvent.objects.filter(conversation=conversation, pk__in=[event.pk for event in missing]).update(
        is_in_transcript=True
    )


def _message_rows(conversation: Conversation, events: Iterable[InboundEvent]) -> list[Message]:
    return [
        Message(
            tenant_id=conversation.tenant_id,
            conversation=conversation,
            position=position,
            sender=SENDERS[InboundEvent.Kind(event.kind)],
            text=event.text,
        )
        for position, event in enumerate(events, start=conversation.next_position)
    ]
