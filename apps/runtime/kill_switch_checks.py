"""Checks of kill switches and takeovers: before each model call, before a reply is sent, and before a tool stores anything."""

from typing import Final

from apps.conversations.models import Conversation
from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import acting_as
from apps.governance.errors import StoppedByKillSwitch
from apps.kill_switches.models import KillSwitch

# `STOPS_ANSWERING` are the kinds that stop every answer, `STOPS_SENDING` those that stop a reply from being sent unreviewed.
STOPS_ANSWERING: Final = (KillSwitch.Kind.PAUSE_AGENT.value,)
STOPS_SENDING: Final = (KillSwitch.Kind.PAUSE_AGENT.value, KillSwitch.Kind.PAUSE_SENDING.value)


class StoppedByPerson(Exception):
    """A person has stopped the work for now. Pending messages stay pending, and none is lost."""

    code = "stopped"


def active_switch(conversation: Conversation, *kinds: KillSwitch.Kind, actor: Actor) -> KillSwitch | None:
    """The oldest kill switch that applies to this conversation, or None. `actor` is the system, which sees all switches."""
    with acting_as(actor):
        on = KillSwitch.objects.visible_to(actor).on().of_kinds(*kinds).select_related("agent")
        return on.reaching(conversation.agent_id, conversation.channel).order_by("pk").first()


def stop_sentence(conversation: Conversation, *, actor: Actor) -> str:
    """The sentence that tells people why a turn of this conversation waits."""
    switch = active_switch(conversation, KillSwitch.Kind.PAUSE_AGENT, actor=actor)
    return switch.sentence if switch else "An operator stopped this for a moment."


def is_taken_over(conversation: Conversation, *, actor: Actor) -> bool:
    """Whether a person has taken this conversation over."""
    with acting_as(actor):
        held = Conversation.objects.visible_to(actor).filter(pk=conversation.pk, taken_over_at__isnull=False)
        return held.exists()


def is_answering_paused(conversation: Conversation, *, actor: Actor) -> bool:
    """Whether a kill switch stops all answers in this conversation, drafts included."""
    return active_switch(conversation, KillSwitch.Kind.PAUSE_AGENT, actor=actor) is not None


def is_sending_paused(conversation: Conversation, *, actor: Actor) -> bool:
    """Whether a kill switch keeps replies in this conversation from being sent before a person has reviewed them."""
    return active_switch(conversation, KillSwitch.Kind.PAUSE_SENDING, actor=actor) is not None


def refuse_if_frozen(conversation: Conversation, *, actor: Actor) -> None:
    """Raise `StoppedByKillSwitch` if learning is frozen for this conversation.

    PostgreSQL refuses the writes too, but it cannot check the channel.
    """
    if switch := active_switch(conversation, KillSwitch.Kind.FREEZE_LEARNING, actor=actor):
        raise StoppedByKillSwitch(f"{switch.sentence} Nothing was written; go on without it.")
