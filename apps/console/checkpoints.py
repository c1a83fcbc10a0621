"""Checkpoints: moments with a name, each a way back."""

from typing import Any

from django.contrib import admin

from apps.console.deeds import Creation, Values
from apps.console.governed_admin import GovernedAdmin
from apps.console.titles import moment
from apps.governance.actors import Actor
from apps.governance.policy.table import Act
from apps.restore.actions import make_checkpoint
from apps.restore.models import Checkpoint


def _make(values: Values, actor: Actor) -> Checkpoint:
    agent = values["agent"]
    return make_checkpoint(values["name"], actor=actor, agent_id=agent.pk if agent else None, reason=values["reason"])


class CheckpointAdmin(GovernedAdmin):
    """The checkpoints of the tenant; a page leads to what restoring would change."""

    list_display = ("name", "agent", "at", "maker", "reason")
    list_filter = ("agent",)
    list_select_related = ("agent",)
    search_fields = ("name", "reason")
    search_help_text = "Search name or reason"
    empty = (
        "No checkpoint yet. Make one before a larger change; every restore of an agent or the tenant makes one, too."
    )
    empty_value_display = "the whole tenant"
    add_fields = ("name", "agent", "reason")
    fields = ()
    change_form_template = "console/checkpoint.html"
    creates = Creation(Act.CHECKPOINT_CREATE, _make, add_fields)

    @admin.display(description="Moment", ordering="moment")
    def at(self, checkpoint: Checkpoint) -> str:
        return moment(checkpoint.moment)

    @admin.display(description="Made by", ordering="created_by")
    def maker(self, checkpoint: Any) -> str:
        return str(checkpoint.people[checkpoint.created_by])
