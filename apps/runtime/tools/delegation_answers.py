"""Answers to the agent that delegated a question: it always gets the answer, or a notice why there is no answer yet.

Each answer or notice is an event of the parent conversation, written in the commit of the change that it reports, under its own
idempotency key.
"""

from collections.abc import Iterable
from typing import Final

from apps.conversations.actions import receive_message
from apps.conversations.delegation import add_parent_event, notify_parent_paused
from apps.conversations.models import Conversation, InboundEvent
from apps.conversations.rules import ToolCall
from apps.desk.actions import open_escalation
from apps.desk.models import Escalation
from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import acting_as
from apps.kill_switches.models import KillSwitch
from apps.prompt.builtin_tools import ENQUEUE_PARENT
from apps.runtime.kill_switch_checks import active_switch
from apps.runtime.wakeup import wake_worker_on_commit
from apps.tenants.authentication.actor_resolution import system_actor

WAITS_FOR_A_PERSON: Final = "It has an answer, which a colleague reads before you get it."
OBSERVE_ONLY: Final = (
    "It only takes notes at present, so it gives no answer. Do without it, or hand this to a colleague."
)
ANSWER_WITHHELD: Final = "A colleague decided that its answer is not given. Do without it, or hand this to a colleague."
NO_ANSWER: Final = (
    "It could not answer: {why} A colleague was asked to look; tell the customer so, and promise no time."
)
TOO_LATE: Final = (
    "The answer came after conversation {parent} had ended. Look whether the customer still needs it: {text}"
)
TOO_LATE_OFF_THE_RECORD: Final = (
    "An answer came after conversation {parent} had ended. Look whether the customer still needs it. It was given off the"
    " record, so what it says is not kept here."
)


def text_passed_on(calls: Iterable[ToolCall]) -> str:
    """The texts that the agent passed on with its tool, in order; empty if there are none."""
    return "\n\n".join(str(call.arguments["text"]) for call in calls if call.name == ENQUEUE_PARENT)


def relay_to_parent(conversation: Conversation, kind: InboundEvent.Kind, text: str, key: str) -> None:
    """Send an event to the agent that delegated to this conversation, if any. Call it in a transaction, once per key."""
    if not conversation.is_asked:
        return
    system = system_actor(conversation.tenant_id, "worker")
    with acting_as(system):
        # Locked, so that the parent does not end between this check and the write.
        rows = Conversation.objects.visible_to(system).select_for_update(no_key=True, of=("self",))
        parent = rows.order_by("pk").get(children=conversation)
        if parent.status != Conversation.Status.OPEN:
            _ask_a_person(conversation, kind, text, actor=system)
            return
        add_parent_event(parent, conversation, kind, text, key)
        wake_worker_on_commit(parent.tenant_id, parent.pk)


def notify_of_pause(tenant_id: int, child_id: int) -> None:
    """Tell the delegating agent that the other agent is paused, once for each kill switch."""
    system = system_actor(tenant_id, "worker")
    with acting_as(system):
        child = Conversation.objects.visible_to(system).open().filter(pk=child_id, taken_over_at=None).first()
        switch = child and active_switch(child, KillSwitch.Kind.PAUSE_AGENT, actor=system)
        if child and switch and (parent_id := notify_parent_paused(child, switch.pk)):
            wake_worker_on_commit(tenant_id, parent_id)


def tell_agent(conversation: Conversation, text: str, key: str, *, actor: Actor) -> None:
    """Tell the agent of a conversation about a person's decision; if the conversation has ended, in a new one."""
    event = receive_message(
        conversation.agent_id,
        actor=actor,
        channel=conversation.channel,
        conversation_key=conversation.conversation_key,
        # A thread between agents is identified by its key alone; the customer's key belongs to another channel.
        end_user_key="" if conversation.is_asked else conversation.end_user_key,
        text=text,
        idempotency_key=key,
    )
    wake_worker_on_commit(event.tenant_id, event.conversation_id, event.debounce_seconds)


def _ask_a_person(conversation: Conversation, kind: InboundEvent.Kind, text: str, *, actor: Actor) -> None:
    """Hand an answer to a person if the parent conversation has ended. Other notices are dropped."""
    if kind == InboundEvent.Kind.ANSWER:
        template = TOO_LATE_OFF_THE_RECORD if conversation.off_the_record else TOO_LATE
        open_escalation(
            conversation.pk,
            actor=actor,
            agent_id=conversation.agent_id,
            turn_id=None,
            reason=Escalation.Reason.UNSUPPORTED,
            question=template.format(parent=conversation.parent_id, text=text),
        )
