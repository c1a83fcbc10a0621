"""What an agent was told by customers and tools, as far as its own eyes reach: what its words are compared with (Z-25).

Comparing takes time that grows with what was said, so only so much of it is compared. Of an agent that was told more, nothing
counts as its own any more: all it writes is held to be a customer's, and people look at it. So nobody gains by waiting until
the words to copy are older than the bound; a busy agent pays with reviews.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final

from django.db.models import Q, QuerySet

from apps.conversations.models import Conversation, InboundEvent, Message
from apps.governance.actors import Actor, Role
from apps.governance.models import Taint
from apps.memory.models import AgentMemory, CustomerProfile, MemoryBlock
from apps.notebook.models import Note
from apps.prompt.derived import Heard, derived
from apps.prompt.lines import lines_of
from apps.prompt.tool_names import HOUSE

# So many rows of a kind, and so many characters of a side. What a session replays of a conversation is less.
ROWS_HEARD: Final = 400
CHARACTERS_HEARD: Final = 60_000

_FOREIGN: Final = (Taint.TOOL_DERIVED, Taint.CUSTOMER_DERIVED, Taint.IMPORTED)


def heard_in(conversation: Conversation, *, actor: Actor) -> Heard:
    """What an agent heard in a conversation, and in all it may see: in a turn, those of its customer."""
    heard = _Heard()
    # A conversation that names nobody is not among those of anybody.
    heard.events(InboundEvent.objects.filter(conversation=conversation))
    return _lately(conversation.agent_id, actor, heard)


def heard_by(actor: Actor) -> Heard | None:
    """The same for whoever asks outside a turn; people are not asked what they heard."""
    if actor.role is not Role.AGENT or actor.agent_id is None:
        return None
    return _lately(actor.agent_id, actor, _Heard())


def whose_words(text: str, heard: Heard | None) -> Taint:
    """Whose words a text carries: a person's, or an agent's own unless a line of it repeats somebody."""
    if heard is None:
        return Taint.OPERATOR
    if not heard.is_whole:
        return Taint.CUSTOMER_DERIVED
    return Taint.joined(Taint.AGENT, *(found.whose.value for found in derived(lines_of(text), heard)))


def whose_file(name: str, content: bytes, heard: Heard | None) -> Taint:
    """The same of a file. What cannot be compared, for it is no text or too long, is a customer's if the agent heard any."""
    if heard is None:
        return Taint.OPERATOR
    told = bool(heard.customers or heard.tools) or not heard.is_whole
    try:
        text = content.decode()
    except UnicodeDecodeError:
        return Taint.CUSTOMER_DERIVED if told else Taint.AGENT
    too_long = len(text) > CHARACTERS_HEARD
    return Taint.CUSTOMER_DERIVED if told and too_long else whose_words(f"{name}\n{text}", heard)


@dataclass(slots=True)
class _Heard:
    """What was said as it is gathered, each text once, and whether all of it fits."""

    customers: dict[str, None] = field(default_factory=dict)
    tools: dict[str, None] = field(default_factory=dict)
    names: dict[str, None] = field(default_factory=dict)
    fits: bool = True

    def events(self, rows: QuerySet[InboundEvent]) -> None:
        # What another agent says is held to be the customer's: its words came of what that customer wrote.
        told = rows.exclude(kind__in=(InboundEvent.Kind.OPERATOR, InboundEvent.Kind.SCHEDULE))
        for text, name in self.latest(told, "text", "sender_name"):
            self.customers[text] = None
            if name:
                self.names[name] = None

    def latest(self, rows: QuerySet[Any], *names: str) -> list[tuple[Any, ...]]:  # Any: values of columns
        """As many rows as are compared."""
        found = list(rows.order_by("-pk").values_list(*names)[: ROWS_HEARD + 1])
        self.fits = self.fits and len(found) <= ROWS_HEARD
        return found[:ROWS_HEARD]

    def bounded(self) -> Heard:
        """All of it; or the first of it, and the word that it is not whole."""
        fits = all(sum(map(len, side)) <= CHARACTERS_HEARD for side in (self.customers, self.tools))
        return Heard(_bounded(self.customers), _bounded(self.tools), tuple(self.names), self.fits and fits)


def _lately(agent_id: int, actor: Actor, heard: _Heard) -> Heard:
    mine = Conversation.objects.visible_to(actor).filter(agent_id=agent_id)
    heard.events(InboundEvent.objects.filter(conversation__in=mine))
    messages = Message.objects.filter(conversation__in=mine)
    spoken = heard.latest(messages.filter(sender__in=(Message.Sender.CUSTOMER, Message.Sender.PEER)), "text")
    heard.customers |= dict.fromkeys(text for (text,) in spoken)
    for (calls,) in heard.latest(messages.exclude(tool_calls=[]), "tool_calls"):
        heard.tools |= dict.fromkeys(call["result"] for call in calls if call["name"] not in HOUSE)
    # What of customers' words the agent has been given back by its own notes.
    for noted in heard.latest(CustomerProfile.objects.visible_to(actor), "preferences", "notes"):
        heard.customers |= dict.fromkeys(noted)
    notes = Note.objects.visible_to(actor).open().filter(agent_id=agent_id)
    theirs = notes.filter(Q(taint__in=_FOREIGN) | ~Q(end_user_key=""))
    heard.customers |= dict.fromkeys(text for (text,) in heard.latest(theirs, "text"))
    for noun in (AgentMemory, MemoryBlock):
        rows = noun._default_manager.filter(tenant_id=actor.tenant_id, agent_id=agent_id, taint__in=_FOREIGN)
        heard.customers |= dict.fromkeys(body for (body,) in heard.latest(rows, "body"))
    return heard.bounded()


def _bounded(texts: Iterable[str]) -> tuple[str, ...]:
    """The first of the texts, up to a number of characters; the last is cut."""
    kept, left = [], CHARACTERS_HEARD
    for text in filter(None, texts):
        if left <= 0:
            break
        kept.append(text[:left])
        left -= len(text)
    return tuple(kept)
