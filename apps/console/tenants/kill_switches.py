"""Kill switches: activated and lifted here, and shown on every page while they are on."""

from django.contrib import admin
from django.http import HttpRequest
from django.utils import timezone

from apps.console.dashboard.navigation import may_read
from apps.console.dashboard.pending_work import SWITCHES, pending_counts
from apps.console.framework.forms import OptionalReasonForm
from apps.console.framework.governed_admin import GovernedAdmin
from apps.console.framework.list_columns import person_column
from apps.console.framework.page_actions import Button, CreateAction, Tabs
from apps.console.framework.request_context import actor_of
from apps.console.framework.token_usage import ending_cost_sentence
from apps.governance.actors import Actor
from apps.governance.policy.policy_table import Act
from apps.kill_switches.actions import activate_kill_switch, deactivate_kill_switch
from apps.kill_switches.models import KillSwitch
from apps.runtime.explain.session_ending import cost_of_ending
from apps.tenants.models import Agent


def switches_on(request: HttpRequest) -> list[KillSwitch]:
    """Return the tenant's active switches, the oldest first."""
    if not may_read(request) or not pending_counts(request).count(SWITCHES):
        return []
    return list(KillSwitch.objects.visible_to(actor_of(request)).on().select_related("agent").order_by("pk"))


def _throw(
    *, actor: Actor, kind: str, agent: Agent | None, channel: str, reason: str, ends_sessions: bool
) -> KillSwitch:
    return activate_kill_switch(
        KillSwitch.Kind(kind),
        actor=actor,
        reason=reason,
        agent_id=agent.pk if agent else None,
        channel=channel,
        ends_sessions=ends_sessions,
    )


def _ending_costs(request: HttpRequest) -> dict[str, str]:
    actor = actor_of(request)
    cost = cost_of_ending(list(Agent.objects.visible_to(actor)), actor=actor, now=timezone.now())
    return {"ends_sessions": f"For every agent: {ending_cost_sentence(cost)}"}


def _is_on(switch: KillSwitch) -> bool:
    return bool(switch.status == KillSwitch.Status.ON)


class SwitchAdmin(GovernedAdmin):
    """Kill switches, with the person and the reason; those that are off stay readable."""

    list_display = ("kind", "whom", "where", "reason", "by", "updated", "status")
    list_filter = ("kind",)
    list_select_related = ("agent",)
    tabs = Tabs("status", tuple(KillSwitch.Status.choices), first=KillSwitch.Status.ON)
    empty = (
        "Nothing is stopped. Throw a switch to freeze learning or to pause answering, at once and everywhere you say."
    )
    add_fields = ("kind", "agent", "channel", "ends_sessions", "reason")
    fields = ()
    change_form_template = "console/tenants/kill_switch.html"
    saved = "Stopped. It takes effect before the next model call."
    creates = CreateAction(Act.KILL_SWITCH_ACTIVATE, _throw, add_fields, explains=_ending_costs)
    buttons = (
        Button(
            "lift",
            "Let it go on",
            Act.KILL_SWITCH_DEACTIVATE,
            deactivate_kill_switch,
            done="Lifted. Waiting work resumes within seconds.",
            consequence="What waited is taken up within seconds: every message that arrived meanwhile is answered.",
            form=OptionalReasonForm,
            when=_is_on,
            tone="primary",
            folded=False,
        ),
    )

    by = person_column("By", "activated_by")

    @admin.display(description="For", ordering="agent")
    def whom(self, switch: KillSwitch) -> str:
        return f"agent {switch.agent}" if switch.agent_id else "every agent"

    @admin.display(description="On", ordering="channel")
    def where(self, switch: KillSwitch) -> str:
        return f"channel {switch.channel}" if switch.channel else "every channel"
