"""Send rules: how an agent's replies are sent on a channel, or once it has read a skill."""

from typing import Any

from django.contrib import admin
from django.urls import reverse

from apps.console.framework.forms import OptionalReasonForm
from apps.console.framework.governed_admin import GovernedAdmin
from apps.console.framework.page_actions import Button, CreateAction, EditAction, as_mapping
from apps.desk.actions import lift_send_rule, write_send_rule
from apps.desk.models import SendRule
from apps.governance.actors import Actor
from apps.governance.policy.policy_table import Act


def _create(*, actor: Actor, **values: Any) -> SendRule:
    return write_send_rule(SendRule(tenant_id=actor.tenant_id), actor=actor, values=values)


def _list_url(rule: SendRule) -> str:
    return reverse("admin:desk_sendrule_changelist")


class SendRuleAdmin(GovernedAdmin):
    """One row for each exception from an agent's own send mode."""

    list_display = ("agent", "where", "after", "send_mode", "updated")
    list_filter = ("agent", "send_mode")
    list_select_related = ("agent", "skill")
    empty = (
        "No rule yet: each agent's own send mode holds everywhere. Add one to have its replies on a channel, or after a skill,"
        " wait for a person."
    )
    add_fields = ("agent", "channel", "skill", "send_mode")
    fields = ("agent", "channel", "skill", "send_mode")
    saved = "Saved. It applies to every reply that has not been sent yet."
    creates = CreateAction(Act.SEND_RULE_WRITE, _create, add_fields)
    amends = (EditAction(Act.SEND_RULE_WRITE, as_mapping(write_send_rule)),)
    buttons = (
        Button(
            "lift",
            "Lift",
            Act.SEND_RULE_LIFT,
            lift_send_rule,
            done="Lifted. The agent's own send mode applies there again.",
            consequence="The agent's own send mode holds there again, from the next reply on.",
            form=OptionalReasonForm,
            tone="danger",
            leads_to=_list_url,
        ),
    )

    @admin.display(description="On", ordering="channel")
    def where(self, rule: SendRule) -> str:
        return f"channel {rule.channel}" if rule.channel else "every channel"

    @admin.display(description="Once it has read", ordering="skill")
    def after(self, rule: SendRule) -> str:
        return str(rule.skill) if rule.skill else "no matter what"
