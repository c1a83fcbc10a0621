"""The settings of a tenant for all its agents: one row, one page."""

from django import forms
from unfold.widgets import UnfoldAdminPasswordWidget

from apps.console.framework.forms import DecisionForm
from apps.console.framework.governed_admin import GovernedAdmin
from apps.console.framework.page_actions import Button, EditAction
from apps.governance.policy.policy_table import Act
from apps.tenants.actions import amend_settings
from apps.tenants.customer_verification import rotate_proof_key
from apps.tenants.models import TenantSettings


class ProofKeyForm(DecisionForm):
    """A new key for customer proofs, which is not shown again."""

    key = forms.CharField(
        required=False,
        label="New key",
        help_text="32 characters or more, drawn at random. Stored encrypted and never shown again. Empty: nobody can prove who"
        " they are any more.",
        widget=UnfoldAdminPasswordWidget(attrs={"autocomplete": "off"}),
    )
    keep_former = forms.BooleanField(
        required=False,
        initial=True,
        label="Let the present key hold for now",
        help_text="Leave this out where somebody else knows it.",
    )


def _key_message(settings: TenantSettings) -> str:
    if settings.has_proof_key:
        return "The new key is saved. Messages that arrive from now on may be signed with it."
    return "There is no key for signatures any more, so customers cannot prove their identity."


class SettingsAdmin(GovernedAdmin):
    """The settings of the tenant: every member reads them, admins change them."""

    has_one_row = True
    list_display = ("timezone", "ai_disclosure", "slot_order", "memory_review", "updated")
    fields = (
        *("timezone", "ai_disclosure", "slot_order", "memory_review", "learning_apply_mode"),
        *("high_risk_reviewers", "proposal_days", "max_open_proposals"),
        *("pii_patterns", "day_budget_micro_usd"),
        *("is_customer_proof_required", "messages_per_minute", "messages_per_day"),
        *("requests_per_minute", "requests_per_minute_of_tenant"),
        "is_second_factor_required",
    )
    change_form_template = "console/tenants/tenant_settings.html"
    edit_label = "Change the settings"
    saved = "Saved. Budgets, limits, time and memory apply from the next message on, the rest from the next session."
    amends = (EditAction(Act.SETTINGS_AMEND, amend_settings),)
    buttons = (
        Button(
            "proof_key",
            "Change the key for signatures",
            Act.SETTINGS_ROTATE_PROOF_KEY,
            rotate_proof_key,
            done=_key_message,
            consequence="Your server signs with the new key from now on. What it signed with the present key goes on holding until"
            " the next change, unless you say otherwise.",
            form=ProofKeyForm,
            tone="primary",
        ),
    )
