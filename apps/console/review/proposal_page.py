"""The page of one proposal: its effect, its sources, its approvals, and the outcome."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest
from django.utils import timezone

from apps.console.framework.actor_names import ActorNames
from apps.console.framework.request_context import actor_of
from apps.console.framework.row_urls import url_of_subject
from apps.console.framework.text_diffs import FieldDiff, field_diffs
from apps.console.review import proposal_wording as words
from apps.console.review.comments import comments_panel
from apps.console.review.content_flags import ContentFlag, find_content_flags, missing_file_flags, personal_data_flags
from apps.console.review.inbox_filters import undoable_proposals
from apps.console.review.proposal_impact import impact_panel
from apps.console.review.provenance import import_origin, provenance_panel
from apps.governance.actors import Actor
from apps.governance.models import Approval, Proposal
from apps.governance.proposals.approval_rules import CONVERSATION, CONVERSATIONS
from apps.learning.contradictions.memory_warnings import MemoryContradiction, contradictions_of
from apps.memory.models import AgentMemory, MemoryBlock
from apps.prompt.memory_lines.line_diff import split_lines
from apps.review.impact_summary import impact_of
from apps.review.review_sheet import ProposalSheet, read_review_sheet
from apps.skills.models import Skill


@dataclass(frozen=True, slots=True)
class ShownApproval:
    """One approval, and whether it is for the present words."""

    approval: Approval
    name: str
    counts: str


@dataclass(frozen=True, slots=True)
class TextComparison:
    """Two texts side by side, with a label for each."""

    title: str
    left: str
    right: str
    diffs: list[FieldDiff]


def proposal_panels(proposal: Any, request: HttpRequest) -> dict[str, Any]:
    """Return everything a reviewer needs to decide, or to see how it was decided."""
    actor, now = actor_of(request), timezone.now()
    sheet = cached_sheet(proposal, actor)
    is_open = proposal.is_open
    people: ActorNames = proposal.people
    texts = words.texts_of(proposal.words)
    return {
        **provenance_panel(proposal, texts.values(), actor, _evidence_conversation_ids(proposal)),
        "sheet": sheet,
        "is_open": is_open,
        "consequence": impact_of(proposal),
        "base_moved": sheet.target is not None and sheet.applier.sha256(sheet.target) != proposal.base_sha256,
        "target_url": url_of_subject(proposal.target_type, proposal.target_id),
        "touched": words.touched_areas(sheet),
        **impact_panel(sheet, actor, now),
        "asks_for": words.required_approvals_sentence(sheet.panel),
        "standing": list(words.approval_sentences(sheet, people, actor.user_id)) if is_open else [],
        "claim": words.claim_sentence(proposal, people, now) if is_open else "",
        "is_snoozed": is_open and proposal.snoozed_until is not None and proposal.snoozed_until > now,
        "expiry": words.expiry_sentence(proposal, now) if is_open else "",
        "compared": list(_comparisons(sheet)),
        "free_text": proposal.content.get("text", "") if sheet.applier.free_text else "",
        **_people_context(proposal, people),
        "signed": _shown_approvals(proposal, people),
        "flags": [
            *find_content_flags(texts),
            *_missing_file_flags(sheet),
            *(personal_data_flags(texts, actor) if is_open and _is_for_all_customers(proposal) else ()),
        ],
        "clashes": _memory_contradictions(proposal, sheet, actor) if is_open else (),
        **comments_panel(proposal, request),
        "undoable": undoable_proposals(actor),
    }


def _people_context(proposal: Proposal, people: ActorNames) -> dict[str, Any]:
    wrote, decided = proposal.edited_by, proposal.decided_by
    return {
        "brought": import_origin(proposal.evidence),
        "people": people,
        "proposer": people[proposal.proposed_by],
        "editor": people[wrote] if wrote else "",
        "decider": people[decided] if decided else "",
    }


def cached_sheet(proposal: Any, actor: Actor) -> ProposalSheet:
    """Return the review sheet of a proposal, read once for its page."""
    if not hasattr(proposal, "sheet"):
        proposal.sheet = read_review_sheet(proposal, actor=actor)
    sheet: ProposalSheet = proposal.sheet
    return sheet


def _missing_file_flags(sheet: ProposalSheet) -> list[ContentFlag]:
    """Return the files that a proposed runbook mentions and that are not attached."""
    if not isinstance(sheet.target, Skill):
        return []
    return missing_file_flags(sheet.proposal.words.get("body", ""), [file.name for file in sheet.target.files])


def _is_for_all_customers(proposal: Proposal) -> bool:
    """Return whether the change reaches more than one customer; only a profile belongs to one customer."""
    return proposal.kind != Proposal.Kind.PROFILE_CHANGE


def _memory_contradictions(proposal: Proposal, sheet: ProposalSheet, actor: Actor) -> tuple[MemoryContradiction, ...]:
    """Return the contradictions between lines that would join memory and what the agent follows."""
    target = sheet.target
    if not isinstance(target, AgentMemory | MemoryBlock):
        return ()
    lines = [*proposal.words.get("lines", ()), *split_lines(proposal.words.get("body", ""))]
    return contradictions_of(target, lines, actor=actor)


def _comparisons(sheet: ProposalSheet) -> Iterable[TextComparison]:
    proposal, applier = sheet.proposal, sheet.applier
    open_now = proposal.is_open
    if sheet.needs_edited_content:
        return
    before = _live_values(sheet) if open_now else _values_before(sheet)
    if open_now and sheet.needs_rebase:
        base = proposal.base_content
        yield _compare_fields(
            "What changed since the proposer read it", "As the proposer read it", "Live now", base, before
        )
    after = applier.after(before, proposal.words) if before or not applier.appends else proposal.words
    if open_now and sheet.needs_rebase:
        asked = _compare_fields(
            "What the proposer asked for",
            "As the proposer read it",
            "Proposed",
            base,
            applier.after(base, proposal.words),
        )
        # If only other fields moved, both comparisons would be the same.
        if asked.diffs != field_diffs(_field_texts(before), _field_texts(after)):
            yield asked
    title = "What would change" if open_now else "What was asked for"
    yield _compare_fields(title, "Live now" if open_now else "Before", "Proposed", before, after)
    yield from _reviewer_comparisons(sheet, before)


def _reviewer_comparisons(sheet: ProposalSheet, before: Mapping[str, Any]) -> Iterable[TextComparison]:
    """Yield the sections that reviewers left out, and their edits of the rest."""
    proposal = sheet.proposal
    if sheet.left_out:
        left = {name: proposal.content[name] for name in sheet.left_out}
        stays = {name: before.get(name, "") for name in left}
        yield _compare_fields("What was not taken", "Proposed", "Stays", left, stays)
    if proposal.is_edited and not sheet.applier.free_text:
        asked = {name: text for name, text in proposal.content.items() if name not in sheet.left_out}
        made = _compare_fields(
            "What the reviewer made of it", "As it was proposed", "As it was edited", asked, proposal.words
        )
        # Sections that were taken as proposed have no edits.
        if made.diffs or not sheet.left_out:
            yield made


def _compare_fields(
    title: str, left: str, right: str, before: Mapping[str, Any], after: Mapping[str, Any]
) -> TextComparison:
    return TextComparison(title, left, right, field_diffs(_field_texts(before), _field_texts(after)))


def _field_texts(side: Mapping[str, Any]) -> dict[str, str]:
    return {name: words.as_text(text) for name, text in side.items()}


def _live_values(sheet: ProposalSheet) -> Mapping[str, Any]:
    return sheet.applier.live(sheet.target) if sheet.target is not None else _values_before(sheet)


def _values_before(sheet: ProposalSheet) -> Mapping[str, Any]:
    """Return the values before the decision; if there were none, the fields are empty."""
    proposal = sheet.proposal
    known: Mapping[str, Any] = proposal.replaced_values.get("values") or proposal.base_content
    if not known and sheet.applier.appends and sheet.target is not None:
        return sheet.applier.live(sheet.target)
    return known


def _evidence_conversation_ids(proposal: Proposal) -> list[int]:
    named = [*proposal.evidence.get(CONVERSATIONS, []), proposal.evidence.get(CONVERSATION)]
    return [conversation_id for conversation_id in named if conversation_id]


def _shown_approvals(proposal: Proposal, people: ActorNames) -> list[ShownApproval]:
    rows = Approval.objects.filter(proposal=proposal)
    return [ShownApproval(one, people[one.user_label], _approval_validity(one, proposal)) for one in rows]


def _approval_validity(approval: Approval, proposal: Proposal) -> str:
    if approval.content_sha256 != proposal.content_sha256:
        return "no: for earlier words, or before it waited again"
    return "yes, for the words that stand here"
