"""What an agent was told lately by customers and tools, as far as its own eyes reach: what its words are compared with (Z-25)."""

from collections.abc import Iterable, Iterator
from typing import Final

from apps.conversations.models import Conversation, InboundEvent, Message
from apps.governance.actors import Actor, Role
from apps.governance.models import Taint
from apps.memory.models import AgentMemory, CustomerProfile, MemoryBlock
from apps.prompt.derived import Heard, derived
from apps.prompt.lines import lines_of
from apps.prompt.tool_names import HOUSE

# Of the agent's conversations together, and of the one it is in. What a session replays of a conversation is less.
EVENTS_HEARD: Final = 200
EVENTS_HEARD_HERE: Final = 400
ROWS_HEARD: Final = 20
CHARACTERS_HEARD: Final = 60_000

_FOREIGN: Final = (Taint.TOOL_DERIVED, Taint.CUSTOMER_DERIVED, Taint.IMPORTED)


def heard_in(conversation: Conversation, *, actor: Actor) -> Heard:
    """What an agent heard in a conversation and lately in others. It is whole only if all of this one could be read."""
    here = InboundEvent.objects.filter(conversation=conversation, kind=InboundEvent.Kind.MESSAGE).order_by("-id")
    said = list(here.values_list("text", "sender_name")[: EVENTS_HEARD_HERE + 1])
    is_whole = len(said) <= EVENTS_HEARD_HERE and sum(len(text) for text, _ in said) <= CHARACTERS_HEARD
    lately = heard_lately(conversation.agent_id, actor=actor)
    texts = dict.fromkeys([*(text for text, _ in said[:EVENTS_HEARD_HERE]), *lately.customers])
    names = dict.fromkeys([*(name for _, name in said if name), *lately.names])
    return Heard(_bounded(texts), lately.tools, tuple(names), is_whole)


def heard_lately(agent_id: int, *, actor: Actor) -> Heard:
    """What an agent's latest conversations said, of those it may see: in a turn, those of its customer."""
    mine = Conversation.objects.visible_to(actor).filter(agent_id=agent_id)
    events = InboundEvent.objects.filter(conversation__in=mine, kind=InboundEvent.Kind.MESSAGE).order_by("-id")
    said = list(events.values_list("text", "sender_name")[:EVENTS_HEARD])
    messages = Message.objects.filter(conversation__in=mine).order_by("-id")
    spoken = messages.filter(sender=Message.Sender.CUSTOMER).values_list("text", flat=True)[:EVENTS_HEARD]
    calls = messages.exclude(tool_calls=[]).values_list("tool_calls", flat=True)[:EVENTS_HEARD]
    customers = dict.fromkeys([*(text for text, _ in said), *spoken, *_noted(agent_id, actor)])
    results = (call["result"] for made in calls for call in made if call["name"] not in HOUSE)
    names = dict.fromkeys(name for _, name in said if name)
    return Heard(_bounded(customers), _bounded(dict.fromkeys(results)), tuple(names))


def heard_by(actor: Actor, agent_id: int) -> Heard | None:
    """The same for whoever asks outside a turn; people are not asked what they heard."""
    return heard_lately(agent_id, actor=actor) if actor.role is Role.AGENT else None


def whose_words(text: str, heard: Heard | None) -> Taint:
    """Whose words a text carries: a person's, or an agent's own unless a line of it repeats somebody."""
    if heard is None:
        return Taint.OPERATOR
    if not heard.is_whole:
        return Taint.CUSTOMER_DERIVED
    return Taint.joined(Taint.AGENT, *(found.whose.value for found in derived(lines_of(text), heard)))


def _noted(agent_id: int, actor: Actor) -> Iterator[str]:
    """What of customers' words the agent has been given back by its own notes."""
    profiles = CustomerProfile.objects.visible_to(actor).order_by("-last_seen_at")
    for preferences, notes in profiles.values_list("preferences", "notes")[:ROWS_HEARD]:
        yield from (preferences, notes)
    for noun in (AgentMemory, MemoryBlock):
        rows = noun._default_manager.filter(tenant_id=actor.tenant_id, agent_id=agent_id, taint__in=_FOREIGN)
        yield from rows.values_list("body", flat=True)[:ROWS_HEARD]


def _bounded(texts: Iterable[str]) -> tuple[str, ...]:
    """The first of the texts, up to a number of characters; the last is cut."""
    kept, left = [], CHARACTERS_HEARD
    for text in texts:
        if left <= 0:
            break
        kept.append(text[:left])
        left -= len(text)
    return tuple(kept)
