"""Proposals: one inbox of all that wait for a decision, and the page for the decision."""

from typing import Any

from django.contrib import admin
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from apps.console.framework.badges import badge
from apps.console.framework.governed_admin import GovernedAdmin
from apps.console.framework.list_columns import column
from apps.console.framework.page_actions import PanelReader, Tabs
from apps.console.framework.row_titles import title_of
from apps.console.review import proposal_wording as words
from apps.console.review.change_excerpts import change_excerpt
from apps.console.review.inbox_filters import (
    EVIDENCE_COUNT,
    REBASE_ORDER,
    AgeFilter,
    AgentFilter,
    ClaimFilter,
    Inbox,
    KindFilter,
    RebaseFilter,
)
from apps.console.review.proposal_decisions import BUTTONS
from apps.console.review.proposal_page import proposal_panels
from apps.governance.models import Proposal
from apps.review.impact_summary import impact_of


class ProposalAdmin(GovernedAdmin):
    """Proposals: those that wait for the reader come first; decided ones stay readable."""

    list_display = (
        "chosen",
        "title",
        "yes",
        "risk_shown",
        "state_shown",
        "live_text_shown",
        "evidence_shown",
        "whose_words",
        "agent_shown",
    )
    list_display_links = ("title",)
    list_filter = (KindFilter, ("agent", AgentFilter), "risk", "taint", AgeFilter, ClaimFilter, RebaseFilter)
    list_select_related = ("agent",)
    search_fields = ("target_label", "proposed_by", "rationale")
    search_help_text = "Search target, proposer or reason"
    changelist = Inbox
    tabs = Tabs("state", ())
    list_before_template = "console/review/inbox_list_header.html"
    empty = (
        "Nothing waits. Drafts of skills come when conversations are solved; agents propose changes of personas, rules,"
        " memory and approved skills. Each needs your yes."
    )
    fields = ()
    change_form_template = "console/review/proposal.html"
    panels = PanelReader(proposal_panels)
    buttons = BUTTONS

    title = column("Proposal", title_of, ordering="target_label")
    agent_shown = column("Agent", lambda row: str(row.agent or "every agent"), ordering="agent__key")

    @admin.display(description="Choose")
    def chosen(self, proposal: Proposal) -> SafeString | str:
        if not proposal.is_open:
            return ""
        box = '<input type="checkbox" form="pc-bulk-bar" name="row" value="{}" aria-label="Choose {}">'
        return format_html(box, proposal.pk, title_of(proposal))

    @admin.display(description="What a yes changes")
    def yes(self, proposal: Any) -> SafeString:
        parts = impact_of(proposal), change_excerpt(proposal, needs_rebase=proposal.needs_rebase)
        return format_html('<div>{}<span class="pc-subline">{}</span></div>', *parts)

    @admin.display(description="Risk", ordering="risk")
    def risk_shown(self, proposal: Proposal) -> SafeString:
        agreed = f"{proposal.approval_count} approved" if proposal.approval_count else ""
        badge_of = '<div><span class="pc-badge pc-tier-{}">{}</span> <span class="pc-subline">{}</span></div>'
        return format_html(badge_of, proposal.risk, proposal.risk, agreed)

    @admin.display(description="State", ordering="-created_at")
    def state_shown(self, proposal: Any) -> SafeString:
        claim = words.claim_sentence(proposal, proposal.people, timezone.now())
        parts = badge(proposal.current_state), words.waiting_time(proposal), claim
        return format_html('<div>{} {}<span class="pc-subline">{}</span></div>', *parts)

    @admin.display(description="Live text", ordering=REBASE_ORDER)
    def live_text_shown(self, proposal: Any) -> SafeString | str:
        return (
            badge("needs_rebase")
            if proposal.needs_rebase
            else "unchanged"
            if proposal.state == Proposal.State.OPEN
            else ""
        )

    @admin.display(description="Evidence", ordering=EVIDENCE_COUNT)
    def evidence_shown(self, proposal: Any) -> SafeString:
        parts = words.evidence_summary(proposal, proposal.seconded), words.comment_summary(proposal.comment_count)
        return format_html('<div>{}<span class="pc-subline">{}</span></div>', *parts)
