"""Proposals: what agents ask for, beside what stands now, and the yes or no to it."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest

from apps.console.deeds import Tabs
from apps.console.diffs import field_diffs
from apps.console.flags import flags
from apps.console.governed_admin import GovernedAdmin
from apps.console.history import url_of_subject
from apps.console.panels import Panels
from apps.console.proposal_buttons import BUTTONS
from apps.console.requests import actor_of
from apps.console.titles import title_of
from apps.console.whose import words_panel
from apps.governance.models import Proposal
from apps.review.sheet import sheet_of


def proposal_panels(proposal: Any, request: HttpRequest) -> dict[str, Any]:
    """The target as it stands, and what would become of it."""
    sheet = sheet_of(proposal, actor=actor_of(request))
    live = {field.name: _shown(field.live) for field in sheet.fields}
    after = {field.name: _shown(field.after) for field in sheet.fields}
    evidence = proposal.evidence
    named = (*evidence.get("conversation_ids", ()), *filter(None, [evidence.get("conversation_id")]))
    words = [_shown(text) for text in proposal.words.values()]
    return {
        **words_panel(proposal, words, actor_of(request), named),
        "sheet": sheet,
        "target": sheet.target,
        "target_url": url_of_subject(proposal.target_type, proposal.target_id),
        "base_moved": sheet.target is not None and sheet.applier.sha256(sheet.target) != proposal.base_sha256,
        "diffs": field_diffs(live, after),
        "proposer": proposal.people[proposal.proposed_by],
        "decider": proposal.people[proposal.decided_by] if proposal.decided_by else "",
        "is_open": proposal.state == Proposal.State.OPEN,
        "conversation_url": _conversation(proposal),
        "flags": flags({name: _shown(text) for name, text in proposal.words.items()}),
    }


def _shown(value: Any) -> str:
    return "\n".join(map(str, value)) if isinstance(value, list) else str(value)


def _conversation(proposal: Proposal) -> str:
    conversation_id = proposal.evidence.get("conversation_id")
    return url_of_subject("conversations.conversation", conversation_id) if conversation_id else ""


class ProposalAdmin(GovernedAdmin):
    """Open proposals first; decided ones stay to be read."""

    list_display = ("title", "kind", "agent", "author", "support", "whose_words", "updated", "state")
    list_display_links = ("title",)
    list_filter = ("kind", "agent")
    list_select_related = ("agent",)
    search_fields = ("target_label", "proposed_by")
    search_help_text = "Search target or proposer"
    tabs = Tabs("state", tuple(Proposal.State.choices), first=Proposal.State.OPEN)
    empty = "Nothing waits here. Agents propose changes of personas and of approved skills; each needs your yes."
    fields = ()
    change_form_template = "console/proposal.html"
    panels = Panels(proposal_panels)
    buttons = BUTTONS

    @admin.display(description="Proposal")
    def title(self, proposal: Proposal) -> str:
        return title_of(proposal)

    @admin.display(description="Proposed by", ordering="proposed_by")
    def author(self, proposal: Any) -> str:
        return str(proposal.people[proposal.proposed_by])

    @admin.display(description="Times asked for", ordering="support_count")
    def support(self, proposal: Proposal) -> int:
        return proposal.support_count
