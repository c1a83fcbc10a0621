"""A world with a row in every tenant table, each put there by the product's own acts."""

from dataclasses import dataclass

from apps.conversations.actions import receive_message, resolve_conversation
from apps.conversations.models import Conversation, InboundEvent
from apps.governance.models import Proposal
from apps.learning.extraction import extract
from apps.llm.backend import Backend
from apps.memory.models import AgentMemory, CustomerProfile
from apps.personas.actions import propose_patch
from apps.personas.models import Persona
from apps.runtime.turn import answer
from apps.skills.actions import count_use
from apps.skills.models import Skill
from tests.factories import (
    World,
    make_conversation,
    make_event,
    make_memory,
    make_persona,
    make_profile,
    make_skill,
    make_world,
)


@dataclass(frozen=True)
class Filled:
    """A tenant in which everything has happened once."""

    world: World
    persona: Persona
    approved: Skill
    draft: Skill
    memory: AgentMemory
    profile: CustomerProfile
    proposal: Proposal
    event: InboundEvent
    resolved: Conversation
    open: Conversation


def fill(backend: Backend) -> Filled:
    """One turn, one use of a skill, one proposal, one extraction, and a row of every noun."""
    world = make_world()
    persona, memory, profile = make_persona(world), make_memory(world), make_profile(world)
    approved, draft = make_skill(world, "approved"), make_skill(world)
    count_use(approved, actor=world.bot)
    proposal = propose_patch(persona, actor=world.bot, text="Say hello first.")
    event = make_event(world)
    answer(world.tenant.pk, event.conversation_id, backend=backend)
    resolved = make_conversation(world)
    resolve_conversation(resolved, actor=world.bot, outcome=Conversation.Outcome.UNSOLVED)
    extract(resolved.pk, actor=world.system, backend=backend)
    thread = make_event(world, "Is anybody there?").conversation
    receive_message(
        world.agent.pk,
        actor=world.bot,
        channel=thread.channel,
        conversation_key=thread.conversation_key,
        text="Hello?",
        idempotency_key="again",
    )
    return Filled(world, persona, approved, draft, memory, profile, proposal, event, resolved, thread)
