"""A reply that repeats texts its model read, made by a real turn against the stand-in."""

from dataclasses import dataclass

from apps.conversations.actions import receive_message
from apps.conversations.models import Conversation, InboundEvent
from apps.governance.database.actor_transaction import acting_as
from apps.runtime.models import Turn
from apps.skills.models import Skill
from tests.support.drivers.conversation import CUSTOMER, reply, run_turn, tool
from tests.support.servers.standin_model import StandIn
from tests.support.worlds.world import World, make_persona, make_profile, make_rule, make_skill

RULE = "Goods may be returned within 14 days, unopened."
BODY = "## Procedure\n1. Ask for the parcel label.\n2. Promise a courier collection next morning.\n"
QUESTION = "May I return the blue kettle?"
REPLY_TEXT = "Goods may be returned within 14 days. A courier collection next morning is possible."


@dataclass(frozen=True)
class ExplainedReply:
    """The texts that the model read, and the turn that repeats them."""

    world: World
    skill: Skill
    turn: Turn

    @property
    def conversation(self) -> Conversation:
        with acting_as(self.world.system):
            return Conversation.objects.get(pk=self.turn.conversation_id)


def make_prompt_context(world: World) -> None:
    """Make other rows that the prompt carries."""
    make_persona(world)
    make_profile(world)


def make_quoted_sources(world: World) -> Skill:
    """Make the rows that the reply will repeat."""
    make_rule(world, RULE)
    return make_skill(world, "approved", body=BODY)


def explain(world: World, standin: StandIn, *, off_the_record: bool = False) -> ExplainedReply:
    """Let the agent read a skill, then answer in words of a rule and of that skill."""
    skill = make_quoted_sources(world)
    standin.play(tool("get_skill", skill_id=skill.pk), reply(REPLY_TEXT))
    turn = run_turn(world, ask_question(world, off_the_record=off_the_record), standin.backend)
    assert turn.status == Turn.Status.DONE, turn.failure
    return ExplainedReply(world, skill, turn)


def ask_question(world: World, *, off_the_record: bool = False) -> InboundEvent:
    """Receive the customer's message."""
    return receive_message(
        world.agent.pk,
        actor=world.bot,
        channel="http",
        conversation_key="kettle",
        end_user_key=CUSTOMER,
        text=QUESTION,
        idempotency_key="kettle-1",
        off_the_record=off_the_record or None,
    )
