"""*Run now*: a person makes a delayed turn due at once, without waiting for its next attempt."""

from typing import Final

from django.db.models import QuerySet
from django.db.models.functions import Now

from apps.conversations.models import Conversation
from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import acting_as, execute_as
from apps.governance.database.sql_files import load_query
from apps.governance.errors import Conflict, Stale
from apps.governance.governed_write import authorize
from apps.governance.policy.policy_table import Act
from apps.kill_switches.models import KillSwitch
from apps.runtime.kill_switch_checks import active_switch
from apps.runtime.models import Turn
from apps.runtime.wakeup import wake_worker_on_commit
from apps.tenants.authentication.actor_resolution import system_actor

_BUDGET_LEFT: Final = load_query("apps/runtime/turns/queries/find_budget_left_for_turn.sql")


def run_turn_now(conversation: Conversation, *, actor: Actor, read_at: int | None = None) -> Conversation:
    """Make the delayed turn of a conversation due at once. Refused if the attempt could only be delayed again."""
    authorize(actor, Act.TURN_RUN, conversation.tenant_id, agent_id=conversation.agent_id)
    with acting_as(actor):
        stored = Conversation.objects.visible_to(actor).get(pk=conversation.pk)
        if read_at is not None and read_at != stored.version:
            raise Stale("The conversation changed since you read it. Read it again, then run it.", stored.version)
        if stored.is_held:
            raise Conflict("A colleague answers here. Hand the conversation back, and the agent answers at once.")
        system = system_actor(stored.tenant_id)
        with acting_as(system):
            _make_due(stored, system)
        wake_worker_on_commit(stored.tenant_id, stored.pk)
    return stored


def has_released_turn(conversation: Conversation) -> bool:
    """Whether a turn of the conversation waits for its next attempt."""
    return _released_turns(conversation).exists()


def _make_due(conversation: Conversation, system: Actor) -> None:
    turn = _released_turns(conversation).select_for_update(no_key=True).first()
    if turn is None:
        raise Conflict("No answer is delayed here. Reload the page to see the present state.")
    if switch := active_switch(conversation, KillSwitch.Kind.PAUSE_AGENT, actor=system):
        raise Conflict(f"{switch.sentence} Lift the switch first; the answer then follows by itself.")
    [(budget_left,)] = execute_as(system, _BUDGET_LEFT, {"turn": turn.pk})
    if budget_left is not None and budget_left <= 0:
        raise Conflict(
            "The budget of the day is spent. Raise it in the settings; delayed answers then follow by themselves."
        )
    Turn.objects.filter(pk=turn.pk).update(run_at=Now())


def _released_turns(conversation: Conversation) -> QuerySet[Turn]:
    return Turn.objects.filter(conversation=conversation, status=Turn.Status.RUNNING, is_released=True)
