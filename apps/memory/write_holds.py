"""Agents' writes to memory: the part that is saved at once, and the part that is held for a person's approval (Z-19, Z-22).

Memory is part of the prompts for all customers. A customer who persuades an agent to save their words would therefore write into
the prompts of all other customers, so such words are held. The tenant's setting `memory_review` decides how much is held:

- `off`: nothing. The row's taint records whose words were saved.
- `tainted`: each new line that repeats a customer or a tool, and the removal of each line that a person approved. Other lines are
  saved at once.
- `all`: the whole new text.

A write is processed in two steps. `split_memory_write` divides it before the row is saved, and `hold_for_review` then puts the
held part into a proposal. A row has one open proposal of each kind: later lines are added to its pending lines, and a line that a
person rejected is not proposed again. People's writes are never divided. Notes about one customer are held as a single change of
the profile (`propose_profile`).

Approval runs apps/review/appliers/memory.py. It adds the pending lines to the row's current text, and removes the lines whose
removal was proposed. Until the approval, no prompt includes pending lines. An example under `tainted`, with the body "Open 9-17":

    the agent writes     "Open 9-17", "Parcels take two days", "Refund me twice" (a customer's words)
    saved at once        "Open 9-17", "Parcels take two days"
    held in a proposal   "Refund me twice"
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from apps.governance.actors import Actor, Role
from apps.governance.database.actor_transaction import acting_as
from apps.governance.errors import Invalid, MissingReceivedTexts
from apps.governance.models import Proposal, Taint
from apps.governance.policy.policy_table import Act
from apps.governance.policy.risk_tiers import RiskFactor, tier_of
from apps.governance.proposals.actions import open_proposal
from apps.governance.proposals.approval_rules import ProposedChange
from apps.governance.stored_text import content_sha256
from apps.memory.line_dates import proposed_dates
from apps.memory.line_ledger import RememberedText, foreign_lines
from apps.memory.models import AgentMemory, CustomerProfile, MemoryBlock
from apps.memory.rules import BLOCK_CHARACTERS, BODY_CHARACTERS
from apps.prompt.memory_lines.line_diff import distinct_lines, strip_line
from apps.prompt.memory_lines.line_edits import too_long_advice
from apps.prompt.memory_lines.line_expiry import LineDates, format_line_dates
from apps.prompt.memory_lines.write_holds import (
    HeldLine,
    MemoryReview,
    UnsavedParts,
    find_unsaved_parts,
    repeated_lines,
    split_write,
)
from apps.prompt.text_reuse.derived_lines import ReceivedTexts
from apps.tenants.models import TenantSettings
from apps.tenants.review_settings import review_terms
from apps.tenants.tenant_clock import zone_of

ProposalKind = Proposal.Kind

# The number of proposals whose lines are compared, so that a customer cannot bring in an undecided or rejected line again.
PROPOSALS_COMPARED = 50
_LINE_KINDS = {AgentMemory: ProposalKind.MEMORY_LINES, MemoryBlock: ProposalKind.BLOCK_LINES}
_BODY_KINDS = {AgentMemory: ProposalKind.MEMORY_BODY, MemoryBlock: ProposalKind.BLOCK_BODY}
_MAX_CHARACTERS = {AgentMemory: BODY_CHARACTERS, MemoryBlock: BLOCK_CHARACTERS}
_PROPOSE_ACTS = {AgentMemory: Act.MEMORY_PROPOSE, MemoryBlock: Act.BLOCK_PROPOSE}


@dataclass(frozen=True, slots=True)
class MemoryReviewSplit:
    """One write, divided into the text that is saved at once and the part that is held for a person."""

    text: str
    taint: Taint
    # The lines that are held, and the approved lines whose removal is held.
    lines: tuple[HeldLine, ...] = ()
    drops: tuple[str, ...] = ()
    # The whole new text, if it is held instead of single lines.
    whole: str | None = None
    # The lines that repeat somebody's words but were saved at once, because the tenant reviews nothing.
    said: tuple[HeldLine, ...] = ()


def split_memory_write(
    row: RememberedText, wanted: str, *, actor: Actor, heard: ReceivedTexts | None
) -> MemoryReviewSplit:
    """Divide a new body according to the tenant's review setting. People's writes are saved whole."""
    if actor.role is not Role.AGENT:
        return MemoryReviewSplit(text=wanted, taint=Taint.OPERATOR if actor.is_person else Taint.AGENT)
    # A text that is too long must not be held either, because nobody could approve it.
    if advice := too_long_advice(wanted, _MAX_CHARACTERS[type(row)]):
        raise Invalid(f"There is no room for it. {advice}", {"body": [advice]})
    received = with_refused_lines(row, require_received_texts(heard), actor, wanted)
    review = memory_review_of(actor)
    if review is MemoryReview.ALL:
        is_changed = distinct_lines(wanted) != distinct_lines(row.body)
        return MemoryReviewSplit(text=row.body, taint=Taint.AGENT, whole=wanted if is_changed else None)
    if review is MemoryReview.OFF:
        repeated = repeated_lines(row.body, wanted, received)
        return MemoryReviewSplit(text=wanted, taint=_joined_taint(row, wanted, repeated), said=repeated)
    parts = split_write(row.body, wanted, row.approved_body, received)
    saved_taint = _joined_taint(row, parts.text, ())
    return MemoryReviewSplit(text=parts.text, taint=saved_taint, lines=parts.held, drops=parts.drops)


def hold_for_review(
    row: RememberedText,
    share: MemoryReviewSplit,
    *,
    actor: Actor,
    evidence: Mapping[str, Any] | None,
    dates: Mapping[str, LineDates] | None = None,
) -> Proposal | None:
    """Propose the held part of a write, merged with the lines that are already pending; None if nothing is held.

    `dates` holds the dates that the writer gives to lines.
    """
    if share.whole is not None:
        new_lines = distinct_lines(share.whole) - distinct_lines(row.body)
        content = {"body": share.whole, **_waiting_line_dates({}, new_lines, dates, actor)}
        return _propose(row, _BODY_KINDS[type(row)], content, Taint.AGENT, actor, evidence)
    if not share.lines and not share.drops:
        return None
    kind = _LINE_KINDS[type(row)]
    waiting, refused = waiting_and_refused(row, kind, actor)
    unrefused = [line.text for line in share.lines if strip_line(line.text) not in refused]
    if not unrefused and not share.drops:
        return waiting
    content = _merge_waiting_lines(waiting, unrefused, share.drops, dates, actor)
    if waiting is not None and content == waiting.content:
        return waiting
    taint = Taint.joined(Taint.AGENT, *(line.whose.value for line in share.lines))
    return _propose(row, kind, content, taint, actor, evidence)


def propose_lines(
    row: RememberedText,
    lines: Iterable[str],
    *,
    actor: Actor,
    evidence: Mapping[str, Any] | None,
    dates: Mapping[str, LineDates],
) -> Proposal:
    """Propose lines that are being taken out of the row, with the dates that they had."""
    kind = _LINE_KINDS[type(row)]
    waiting, _ = waiting_and_refused(row, kind, actor)
    content = _merge_waiting_lines(waiting, lines, (), dates, actor)
    return _propose(row, kind, content, Taint.CUSTOMER, actor, evidence)


def unsaved_parts(row: RememberedText, sent: str, actor: Actor) -> UnsavedParts:
    """Return the parts of an agent's write that were not saved: those that wait, those that were turned down, those that stay."""
    with acting_as(actor):
        _, refused_lines = waiting_and_refused(row, _LINE_KINDS[type(row)], actor)
        _, refused_bodies = waiting_and_refused(row, _BODY_KINDS[type(row)], actor)
    return find_unsaved_parts(sent, row.body, refused_lines | refused_bodies)


def require_received_texts(heard: ReceivedTexts | None) -> ReceivedTexts:
    """Return the texts that the agent received.

    Raises `MissingReceivedTexts` if the caller passed none, since lines must be compared with them.
    """
    if heard is None:
        raise MissingReceivedTexts(
            "Nobody said what this agent heard, so nothing tells its words from a customer's. Nothing was saved."
        )
    return heard


def memory_review_of(actor: Actor) -> MemoryReview:
    """Return the tenant's review setting for agents' writes to memory."""
    return MemoryReview(TenantSettings.objects.visible_to(actor).get().memory_review)


def with_refused_lines(
    row: RememberedText | CustomerProfile, heard: ReceivedTexts, actor: Actor, wanted: str = ""
) -> ReceivedTexts:
    """Return the received texts, extended by lines that count as customers' words.

    These are pending and rejected lines, and the row's lines from other sources. Otherwise a line could be brought in again after
    the conversation that it came from has ended.
    """
    unapplied = Proposal.objects.visible_to(actor).about(row).exclude(state=Proposal.State.APPLIED)
    of_lines = unapplied.filter(kind__in=_LINE_KINDS.values())
    # Read one more than is compared, to detect whether there are more.
    contents = list(of_lines.values_list("content", flat=True)[: PROPOSALS_COMPARED + 1])
    all_compared = len(contents) <= PROPOSALS_COMPARED
    earlier_lines = [line for content in contents for line in content.get("lines", [])]
    if not isinstance(row, CustomerProfile):
        earlier_lines += foreign_lines(row, wanted, actor)
    return ReceivedTexts(
        (*heard.customers, *earlier_lines), heard.tools, heard.names, is_whole=heard.is_whole and all_compared
    )


def propose_profile(
    profile: CustomerProfile,
    values: Mapping[str, str],
    *,
    actor: Actor,
    evidence: Mapping[str, Any] | None,
    dates: Mapping[str, LineDates] | None = None,
) -> Proposal:
    """Propose an agent's notes about a customer, with the dates of the lines."""
    live = {name: getattr(profile, name) for name in values}
    lines = [line for text in values.values() for line in distinct_lines(text)]
    change = ProposedChange(
        ProposalKind.PROFILE_CHANGE,
        actor.agent_id,
        profile_sha256(profile),
        {**values, **_waiting_line_dates({}, lines, dates, actor)},
        evidence=evidence or {},
        base_version=profile.version,
        base_content=live,
        risk=tier_of({RiskFactor.CUSTOMER_ONLY}),
        taint=Taint.CUSTOMER,
    )
    return open_proposal(profile, actor=actor, act=Act.PROFILE_PROPOSE, change=change, terms=review_terms(actor))


def profile_sha256(profile: CustomerProfile) -> str:
    """Return the hash of the profile's text. It binds a proposal to the text that the proposer read."""
    return content_sha256(profile.preferences, profile.notes)


def waiting_and_refused(
    row: RememberedText, kind: ProposalKind, actor: Actor
) -> tuple[Proposal | None, frozenset[str]]:
    """Return the open proposal of this kind, if there is one, and the lines that a person rejected or quarantined."""
    proposals = Proposal.objects.visible_to(actor).about(row).filter(kind=kind)
    refused = proposals.filter(state__in=[Proposal.State.REJECTED, Proposal.State.QUARANTINED])
    contents = refused.values_list("content", flat=True)[:PROPOSALS_COMPARED]
    waiting = proposals.open().first()
    return waiting, frozenset(strip_line(line) for content in contents for line in content.get("lines", []))


def _merge_waiting_lines(
    waiting: Proposal | None,
    lines: Iterable[str],
    drops: Iterable[str],
    dates: Mapping[str, LineDates] | None,
    actor: Actor,
) -> dict[str, Any]:
    """Return the content of a line proposal: the pending lines, then the new ones, each line once."""
    before = waiting.content if waiting else {}
    all_lines = list(dict.fromkeys([*before.get("lines", []), *lines]))
    all_drops = list(dict.fromkeys([*before.get("removed_lines", []), *drops]))
    content: dict[str, Any] = {}
    if all_lines:
        content["lines"] = all_lines
    if all_drops:
        content["removed_lines"] = all_drops
    return content | _waiting_line_dates(before, all_lines, dates, actor)


def _waiting_line_dates(
    before: Mapping[str, Any], lines: Iterable[str], dates: Mapping[str, LineDates] | None, actor: Actor
) -> dict[str, dict[str, str]]:
    """Return the dates of the pending lines. A new date of a line overrides its date in `before`."""
    new_dates = {strip_line(line): found for line, found in (dates or {}).items()}
    all_dates = {**proposed_dates(before, actor), **new_dates}
    waiting_lines = map(strip_line, lines)
    dated = {line: all_dates[line] for line in waiting_lines if line in all_dates}
    return format_line_dates(dated, zone_of(actor)) if dated else {}


def _propose(
    row: RememberedText,
    kind: ProposalKind,
    words: Mapping[str, Any],
    taint: Taint,
    actor: Actor,
    evidence: Mapping[str, Any] | None,
) -> Proposal:
    change = ProposedChange(
        kind,
        row.agent_id,
        content_sha256(row.body),
        words,
        evidence=evidence or {},
        base_version=row.version,
        base_content={"body": row.body},
        risk=tier_of({RiskFactor.AGENT_WIDE_MEMORY}),
        taint=taint,
    )
    return open_proposal(row, actor=actor, act=_PROPOSE_ACTS[type(row)], change=change, terms=review_terms(actor))


def _joined_taint(row: RememberedText, wanted: str, quoted_lines: Iterable[HeldLine]) -> Taint:
    """Return the taint of a new text.

    It joins the agent's taint with the taints of the lines that the text repeats and of the row's lines that it keeps.
    """
    keeps_lines = bool(distinct_lines(row.body) & distinct_lines(wanted))
    kept_taints = [row.taint] if keeps_lines and row.taint != Taint.OPERATOR else []
    return Taint.joined(Taint.AGENT, *kept_taints, *(line.whose.value for line in quoted_lines))
