"""What an operator has stopped, asked before each model call, before a reply leaves, and before a tool keeps anything."""

from apps.conversations.models import Conversation
from apps.governance.acting import acting
from apps.governance.actors import Actor
from apps.governance.errors import Frozen
from apps.switches.models import Switch

ANSWERING = (Switch.Kind.PAUSE_AGENT, Switch.Kind.PAUSE_SENDING)


class Stopped(Exception):
    """An operator stopped this for now; whatever waits goes on waiting, and nothing is lost."""

    code = "stopped"


def stop_of(conversation: Conversation, *kinds: Switch.Kind, actor: Actor) -> Switch | None:
    """The oldest switch that holds for this conversation, if one does; asked as the system, who reads all of them."""
    with acting(actor):
        on = Switch.objects.visible_to(actor).on().of_kinds(*kinds).select_related("agent")
        return on.reaching(conversation.agent_id, conversation.channel).order_by("pk").first()


def why_stopped(conversation: Conversation, *, actor: Actor) -> str:
    """What people read while a turn waits here. Autonomous sending is the one way of answering there is."""
    switch = stop_of(conversation, *ANSWERING, actor=actor)
    return switch.sentence if switch else "An operator stopped this for a moment."


def refuse_if_frozen(conversation: Conversation, *, actor: Actor) -> None:
    """Raise `Frozen` while nothing may be learned here. PostgreSQL refuses too, but knows no channel."""
    if switch := stop_of(conversation, Switch.Kind.FREEZE_LEARNING, actor=actor):
        raise Frozen(f"{switch.sentence} Nothing was written; go on without it.")
