"""Proposals: one inbox of all that waits for a yes or no, and the page on which one decides."""

from typing import Any

from django.contrib import admin
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from apps.console import proposal_words as words
from apps.console.deeds import Tabs
from apps.console.governed_admin import GovernedAdmin
from apps.console.panels import Panels
from apps.console.proposal_buttons import BUTTONS
from apps.console.proposal_page import proposal_panels
from apps.console.proposal_queues import AgeFilter, ClaimFilter, Inbox, KindFilter
from apps.console.templatetags.console import badge
from apps.console.titles import title_of
from apps.governance.models import Proposal


class ProposalAdmin(GovernedAdmin):
    """What waits for the reader first; decided ones stay to be read."""

    list_display = ("title", "change", "tier_shown", "waits", "support", "whose_words", "claim", "state_shown")
    list_display_links = ("title",)
    list_filter = (KindFilter, "agent", "tier", "taint", AgeFilter, ClaimFilter)
    list_select_related = ("agent",)
    search_fields = ("target_label", "proposed_by", "rationale")
    search_help_text = "Search target, proposer or reason"
    changelist = Inbox
    tabs = Tabs("state", ())
    list_before_template = "console/inbox_before.html"
    empty = (
        "Nothing waits. Drafts of skills come when conversations are solved; agents propose changes of personas, rules,"
        " memory and approved skills. Each needs your yes."
    )
    fields = ()
    change_form_template = "console/proposal.html"
    panels = Panels(proposal_panels)
    buttons = BUTTONS

    @admin.display(description="Proposal", ordering="target_label")
    def title(self, proposal: Proposal) -> str:
        return title_of(proposal)

    @admin.display(description="What would change")
    def change(self, proposal: Proposal) -> str:
        return words.excerpt(proposal)

    @admin.display(description="Tier", ordering="tier")
    def tier_shown(self, proposal: Proposal) -> SafeString:
        agreed = f" {proposal.approval_count} approved" if proposal.approval_count else ""
        return format_html('<span class="pc-badge pc-tier-{}">{}</span>{}', proposal.tier, proposal.tier, agreed)

    @admin.display(description="Waiting", ordering="-created_at")
    def waits(self, proposal: Proposal) -> str:
        return words.waits(proposal)

    @admin.display(description="Asked for", ordering="support_count")
    def support(self, proposal: Proposal) -> str:
        return "once" if proposal.support_count == 1 else f"{proposal.support_count} times"

    @admin.display(description="Claim", ordering="claimed_at")
    def claim(self, proposal: Any) -> str:
        return words.claim(proposal, proposal.people, timezone.now()) or "nobody"

    @admin.display(description="State", ordering="state")
    def state_shown(self, proposal: Proposal) -> SafeString:
        return badge(proposal.state)
