"""What an agent heard is read in one statement, which brings what the rows visible to it say, and nothing else."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import pytest
from django.db import connection
from django.db.models import Q, QuerySet
from django.test.utils import CaptureQueriesContext

from apps.conversations.actions import append_messages, open_conversation
from apps.conversations.models import Conversation, InboundEvent, Message
from apps.conversations.rules import ConversationLine, ToolCall
from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import acting_as
from apps.governance.errors import MissingActor
from apps.governance.models import Taint
from apps.memory.actions import create_memory, write_block
from apps.memory.models import AgentMemory, CustomerProfile, MemoryBlock
from apps.notebook.actions import finish_note
from apps.notebook.models import Note
from apps.prompt.builtin_tools import BUILTIN_TOOL_NAMES
from apps.prompt.text_reuse.derived_lines import ReceivedTexts
from apps.runtime.taint_attribution import ROWS_HEARD, heard_texts, heard_texts_of_agent
from tests.support.factories.member_talks import make_assistant, make_talk, make_trial, message_assistant
from tests.support.factories.notes import CUSTOMER, make_note, make_note_of_customer
from tests.support.worlds.world import World, make_block, make_conversation, make_event, make_profile, make_world

pytestmark = pytest.mark.django_db

OTHER_CUSTOMER: Final = "http:other"
TRACKING_NOTE: Final = "In Leipzig since noon."
UNTRUSTED_TAINTS: Final = (Taint.TOOL, Taint.CUSTOMER, Taint.IMPORT)

AGENT_CONTEXTS: Final[dict[str, Callable[[World], Actor]]] = {
    "outside a turn": lambda world: world.bot,
    "for a customer": lambda world: world.bot.serving(CUSTOMER),
    "for one who is not proven": lambda world: world.bot.serving(CUSTOMER, is_proven=False),
    "for another": lambda world: world.bot.serving(OTHER_CUSTOMER),
    "for nobody": lambda world: world.bot.serving(""),
    "for a member": lambda world: world.bot.for_member(world.operator_user.pk),
}


def texts(rows: QuerySet[Any], *names: str) -> set[str]:
    return {text for line in rows.values_list(*names) for text in line if text}


def visible_texts(world: World, actor: Actor, conversation: Conversation | None) -> ReceivedTexts:
    """The same by the lists that everybody else reads."""
    own = Q(agent=world.agent)
    mine = Conversation.objects.visible_to(actor).filter(own)
    events = InboundEvent.objects.filter(Q(conversation__in=mine) | Q(conversation=conversation or 0))
    outside_events = events.exclude(kind__in=(InboundEvent.Kind.OPERATOR, InboundEvent.Kind.SCHEDULE))
    messages = Message.objects.filter(conversation__in=mine)
    notes = Note.objects.visible_to(actor).open().filter(own, Q(taint__in=UNTRUSTED_TAINTS) | ~Q(end_user_key=""))
    customers = texts(outside_events, "text") | texts(messages.filter(sender__in=("customer", "peer")), "text")
    customers |= texts(CustomerProfile.objects.visible_to(actor), "preferences", "notes") | texts(notes, "text")
    for noun in (AgentMemory, MemoryBlock):
        customers |= texts(noun._default_manager.filter(own, tenant=world.tenant, taint__in=UNTRUSTED_TAINTS), "body")
    calls = [call for (called,) in messages.values_list("tool_calls") for call in called]
    tools = {call["result"] for call in calls if call["name"] not in BUILTIN_TOOL_NAMES}
    return ReceivedTexts(tuple(customers), tuple(tools), tuple(texts(outside_events, "sender_name")))


def sorted_texts(heard: ReceivedTexts) -> tuple[list[str], ...]:
    return sorted(heard.customers), sorted(heard.tools), sorted(heard.names)


@dataclass(frozen=True)
class MemberTrial:
    """A world and what a member tries in it."""

    world: World
    trial: Conversation


def open_test_conversation(world: World) -> Conversation:
    return open_conversation(
        world.agent.pk, actor=world.bot, channel="http", conversation_key="one", end_user_key=CUSTOMER
    )


@pytest.fixture
def scene() -> MemberTrial:
    """Rows of every kind: of two customers, a member, another agent, another tenant, and rows that tell nothing."""
    world, other = make_world(), make_world()
    for each in (world, other):
        for key in (CUSTOMER, OTHER_CUSTOMER):
            make_event(each, f"{key} asks.", end_user_key=key, sender_name=f"Name of {key}")
            make_conversation(each, key)
            make_profile(each, key, notes=f"{key} has a dog.")
        make_note(each, "Nobody's and an agent's own.", actor=each.bot)
        make_note_of_customer(each, "About the one.")
        make_note(each, "About the other.", end_user_key=OTHER_CUSTOMER)
        finish_note(make_note_of_customer(each, "Done."), actor=each.operator)
        make_block(each, "Facts")
        block_values = {"body": "They said so."}
        write_block(make_block(each, "Heard"), actor=each.operator, values=block_values, words_of=Taint.CUSTOMER)
    message_assistant(make_talk(make_assistant(world)), "To another agent.", world.operator)
    create_memory(world.agent.pk, actor=world.bot, body="They said it.", heard=ReceivedTexts(is_whole=False))
    tracked = ConversationLine("agent", "", (ToolCall("call-9", "track_parcel", {}, TRACKING_NOTE),))
    append_messages(open_test_conversation(world), [tracked], actor=world.system)
    trial = make_trial(world)
    message_assistant(trial, "Tried by a member.", world.operator)
    return MemberTrial(world, trial)


@pytest.mark.parametrize("way", AGENT_CONTEXTS)
def test_an_agent_heard_what_the_rows_it_may_see_say(scene: MemberTrial, way: str) -> None:
    # Z-25, R006, R007
    actor = AGENT_CONTEXTS[way](scene.world)
    with acting_as(actor):
        outside, inside = heard_texts_of_agent(actor), heard_texts(scene.trial, actor=actor)
        assert outside is not None
        assert outside.customers
        assert sorted_texts(outside) == sorted_texts(visible_texts(scene.world, actor, None))
        assert sorted_texts(inside) == sorted_texts(visible_texts(scene.world, actor, scene.trial))


def test_it_takes_one_statement_and_somebody_who_acts(scene: MemberTrial) -> None:
    with acting_as(scene.world.bot), CaptureQueriesContext(connection) as asked:
        heard = heard_texts(scene.trial, actor=scene.world.bot)
    assert (len(asked), heard.tools) == (1, (TRACKING_NOTE,))
    with pytest.raises(MissingActor, match="acting"):
        heard_texts_of_agent(scene.world.bot)


@pytest.mark.parametrize(("more", "is_whole"), [(0, True), (1, False)])
def test_of_more_rows_than_are_compared_it_says_so(more: int, is_whole: bool) -> None:
    world = make_world()
    lines = [ConversationLine("customer", f"{number}") for number in range(ROWS_HEARD + more)]
    append_messages(open_test_conversation(world), lines, actor=world.system)
    with acting_as(world.bot):
        heard = heard_texts_of_agent(world.bot)
    assert heard is not None
    assert (len(heard.customers), heard.is_whole) == (ROWS_HEARD, is_whole)
