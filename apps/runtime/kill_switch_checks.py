"""What people have stopped: asked before each model call, before a reply leaves, and before a tool keeps anything."""

from typing import Final

from apps.conversations.models import Conversation
from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import acting_as
from apps.governance.errors import StoppedByKillSwitch
from apps.kill_switches.models import KillSwitch

# Under the first nothing is answered; under the second a reply waits for a person instead of leaving.
STOPS_ANSWERING: Final = (KillSwitch.Kind.PAUSE_AGENT.value,)
STOPS_SENDING: Final = (KillSwitch.Kind.PAUSE_AGENT.value, KillSwitch.Kind.PAUSE_SENDING.value)


class StoppedByPerson(Exception):
    """A person stopped this for now; whatever waits goes on waiting, and nothing is lost."""

    code = "stopped"


def active_switch(conversation: Conversation, *kinds: KillSwitch.Kind, actor: Actor) -> KillSwitch | None:
    """The oldest switch that holds for this conversation, if one does; asked as the system, who reads all of them."""
    with acting_as(actor):
        on = KillSwitch.objects.visible_to(actor).on().of_kinds(*kinds).select_related("agent")
        return on.reaching(conversation.agent_id, conversation.channel).order_by("pk").first()


def stop_sentence(conversation: Conversation, *, actor: Actor) -> str:
    """What people read while a turn waits here."""
    switch = active_switch(conversation, KillSwitch.Kind.PAUSE_AGENT, actor=actor)
    return switch.sentence if switch else "An operator stopped this for a moment."


def is_taken_over(conversation: Conversation, *, actor: Actor) -> bool:
    """Whether a person answers here by now."""
    with acting_as(actor):
        held = Conversation.objects.visible_to(actor).filter(pk=conversation.pk, taken_over_at__isnull=False)
        return held.exists()


def is_answering_paused(conversation: Conversation, *, actor: Actor) -> bool:
    """Whether nothing is answered here, drafts included."""
    return active_switch(conversation, KillSwitch.Kind.PAUSE_AGENT, actor=actor) is not None


def is_sending_paused(conversation: Conversation, *, actor: Actor) -> bool:
    """Whether replies wait for a person here."""
    return active_switch(conversation, KillSwitch.Kind.PAUSE_SENDING, actor=actor) is not None


def refuse_if_frozen(conversation: Conversation, *, actor: Actor) -> None:
    """Raise `StoppedByKillSwitch` while nothing may be learned here. PostgreSQL refuses too, but knows no channel."""
    if switch := active_switch(conversation, KillSwitch.Kind.FREEZE_LEARNING, actor=actor):
        raise StoppedByKillSwitch(f"{switch.sentence} Nothing was written; go on without it.")
