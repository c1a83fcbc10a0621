"""Actions on kill switches. They take effect before the next model call. No pending message is lost or answered twice."""

from django.utils import timezone

from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import acting_as
from apps.governance.errors import refuse_blank
from apps.governance.governed_write import governed, governed_create
from apps.governance.policy.policy_table import Act
from apps.kill_switches.models import KillSwitch
from apps.tenants.actions import end_sessions
from apps.tenants.models import Agent


def activate_kill_switch(
    kind: KillSwitch.Kind,
    *,
    actor: Actor,
    reason: str,
    agent_id: int | None = None,
    channel: str = "",
    ends_sessions: bool = False,
) -> KillSwitch:
    """Activate a switch at once. Messages still arrive and stay pending. Nothing that was learned is undone.

    With `ends_sessions` the agents' open sessions end too, on every channel: the next turn of each conversation freezes a new
    prompt. Each agent has a change record of its own.
    """
    refuse_blank(reason, "Say why; everybody sees the reason while the switch is on.")
    switch = KillSwitch(
        tenant_id=actor.tenant_id,
        kind=kind,
        agent_id=agent_id,
        channel=channel,
        ends_sessions=ends_sessions,
        reason=reason,
        activated_by=actor.label,
    )
    with acting_as(actor):
        activated = governed_create(Act.KILL_SWITCH_ACTIVATE, switch, actor=actor, reason=reason)
        if ends_sessions:
            agents = Agent.objects.visible_to(actor).order_by("pk")
            for agent in agents if agent_id is None else agents.filter(pk=agent_id):
                end_sessions(agent, actor=actor, reason=reason)
    return activated


def deactivate_kill_switch(
    switch: KillSwitch, *, actor: Actor, reason: str = "", read_at: int | None = None
) -> KillSwitch:
    """Deactivate a switch. The next sweep resumes the pending work in the order of its arrival."""
    with governed(Act.KILL_SWITCH_DEACTIVATE, switch, actor=actor, read_at=read_at, reason=reason) as row:
        row.lift()
        row.deactivated_by = actor.label
        row.deactivated_at = timezone.now()
    return switch
