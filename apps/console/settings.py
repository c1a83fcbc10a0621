"""What a tenant decides for all its agents: one row, one page."""

from apps.console.deeds import Amendment, Values
from apps.console.governed_admin import GovernedAdmin
from apps.governance.actors import Actor
from apps.governance.policy import Act
from apps.tenants.actions import amend_settings
from apps.tenants.models import TenantSettings


def _amend(settings: TenantSettings, values: Values, actor: Actor, read_at: int | None) -> TenantSettings:
    return amend_settings(settings, actor=actor, read_at=read_at, **values)


class SettingsAdmin(GovernedAdmin):
    """The settings of the tenant: read by every member, changed by admins."""

    has_one_row = True
    list_display = ("timezone", "ai_disclosure", "slot_order", "memory_review", "updated")
    fields = (
        *("timezone", "ai_disclosure", "slot_order", "memory_review"),
        *("high_risk_reviewers", "proposal_days", "max_open_proposals"),
        "day_budget_micro_usd",
    )
    change_form_template = "console/settings.html"
    edit_label = "Change the settings"
    saved = "Saved. Time zone, budget and review of memory hold from the next message on, the rest from the next session on."
    amends = (Amendment(Act.SETTINGS_AMEND, _amend),)
