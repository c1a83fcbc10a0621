"""What an agent writes to memory at once, and what goes before a person first (Z-19, Z-22)."""

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
from apps.prompt.memory_lines.write_holds import HeldLine, MemoryReview, repeated_lines, split_write, write_feedback
from apps.prompt.text_reuse.derived_lines import ReceivedTexts
from apps.tenants.models import TenantSettings
from apps.tenants.review_settings import review_terms
from apps.tenants.tenant_clock import zone_of

ProposalKind = Proposal.Kind

# The proposals whose lines a customer may try to bring in once more.
PROPOSALS_COMPARED = 50
_LINE_KINDS = {AgentMemory: ProposalKind.MEMORY_LINES, MemoryBlock: ProposalKind.BLOCK_LINES}
_BODY_KINDS = {AgentMemory: ProposalKind.MEMORY_BODY, MemoryBlock: ProposalKind.BLOCK_BODY}
_MAX_CHARACTERS = {AgentMemory: BODY_CHARACTERS, MemoryBlock: BLOCK_CHARACTERS}
_PROPOSE_ACTS = {AgentMemory: Act.MEMORY_PROPOSE, MemoryBlock: Act.BLOCK_PROPOSE}


@dataclass(frozen=True, slots=True)
class MemoryReviewSplit:
    """Of one write: the text that may stand at once and whose words that is, and what of the rest goes before a person."""

    text: str
    taint: Taint
    lines: tuple[HeldLine, ...] = ()
    drops: tuple[str, ...] = ()
    whole: str | None = None
    said: tuple[HeldLine, ...] = ()


def split_memory_write(
    row: RememberedText, wanted: str, *, actor: Actor, heard: ReceivedTexts | None
) -> MemoryReviewSplit:
    """What of a new body the tenant lets an agent write by itself; people write what they like."""
    if actor.role is not Role.AGENT:
        return MemoryReviewSplit(wanted, Taint.OPERATOR if actor.is_person else Taint.AGENT)
    # What fits nowhere does not wait for a person either, who could only say no.
    if advice := too_long_advice(wanted, _MAX_CHARACTERS[type(row)]):
        raise Invalid(f"There is no room for it. {advice}", {"body": [advice]})
    heard = with_refused_lines(row, require_received_texts(heard), actor, wanted)
    review = memory_review_of(actor)
    if review is MemoryReview.ALL:
        return MemoryReviewSplit(
            row.body, Taint.AGENT, whole=wanted if distinct_lines(wanted) != distinct_lines(row.body) else None
        )
    quoted_lines = repeated_lines(row.body, wanted, heard)
    if review is MemoryReview.OFF:
        return MemoryReviewSplit(wanted, _joined_taint(row, wanted, quoted_lines), said=quoted_lines)
    parts = split_write(row.body, wanted, row.approved_body, heard)
    return MemoryReviewSplit(parts.text, _joined_taint(row, parts.text, ()), parts.held, parts.drops)


def hold_for_review(
    row: RememberedText,
    share: MemoryReviewSplit,
    *,
    actor: Actor,
    evidence: Mapping[str, Any] | None,
    dates: Mapping[str, LineDates] | None = None,
) -> Proposal | None:
    """Put the rest before a person: its lines join those that wait already, each until when its writer says it holds."""
    if share.whole is not None:
        whole = {
            "body": share.whole,
            **_waiting_line_dates({}, distinct_lines(share.whole) - distinct_lines(row.body), dates, actor),
        }
        return _propose(row, _BODY_KINDS[type(row)], whole, Taint.AGENT, actor, evidence)
    if not share.lines and not share.drops:
        return None
    kind = _LINE_KINDS[type(row)]
    waiting, refused = waiting_and_refused(row, kind, actor)
    lines = [line for line in share.lines if strip_line(line.text) not in refused]
    words = _merge_waiting_lines(waiting, [line.text for line in lines], share.drops, dates, actor)
    if (waiting is not None and words == waiting.content) or not (lines or share.drops):
        return waiting
    taint = Taint.joined(Taint.AGENT, *(line.whose.value for line in share.lines))
    return _propose(row, kind, words, taint, actor, evidence)


def propose_lines(
    row: RememberedText,
    lines: Iterable[str],
    *,
    actor: Actor,
    evidence: Mapping[str, Any] | None,
    dates: Mapping[str, LineDates],
) -> Proposal:
    """Put lines before a person that stood there, until whenever they did, and are taken out."""
    kind = _LINE_KINDS[type(row)]
    words = _merge_waiting_lines(waiting_and_refused(row, kind, actor)[0], lines, (), dates, actor)
    return _propose(row, kind, words, Taint.CUSTOMER, actor, evidence)


def review_notice(row: RememberedText, sent: str, actor: Actor) -> str:
    """What an agent is told of its write beyond that it was saved; empty if all of it was."""
    with acting_as(actor):
        kinds = (_LINE_KINDS[type(row)], _BODY_KINDS[type(row)])
        refused = frozenset[str]().union(*(waiting_and_refused(row, kind, actor)[1] for kind in kinds))
    return write_feedback(sent, row.body, refused)


def require_received_texts(heard: ReceivedTexts | None) -> ReceivedTexts:
    """What the agent heard; a surface that forgot to ask is refused, not believed."""
    if heard is None:
        raise MissingReceivedTexts(
            "Nobody said what this agent heard, so nothing tells its words from a customer's. Nothing was saved."
        )
    return heard


def memory_review_of(actor: Actor) -> MemoryReview:
    """What the tenant wants reviewed."""
    return MemoryReview(TenantSettings.objects.visible_to(actor).get().memory_review)


def with_refused_lines(
    row: RememberedText | CustomerProfile, heard: ReceivedTexts, actor: Actor, wanted: str = ""
) -> ReceivedTexts:
    """What waits or was turned down is somebody's words, however long ago they said it; so is what once stood as theirs."""
    earlier = Proposal.objects.visible_to(actor).about(row).exclude(state=Proposal.State.APPLIED)
    contents = list(
        earlier.filter(kind__in=_LINE_KINDS.values()).values_list("content", flat=True)[: PROPOSALS_COMPARED + 1]
    )
    lines = [line for content in contents for line in content.get("lines", [])]
    if not isinstance(row, CustomerProfile):
        lines += foreign_lines(row, wanted, actor)
    return ReceivedTexts(
        (*heard.customers, *lines), heard.tools, heard.names, heard.is_whole and len(contents) <= PROPOSALS_COMPARED
    )


def propose_profile(
    profile: CustomerProfile,
    values: Mapping[str, str],
    *,
    actor: Actor,
    evidence: Mapping[str, Any] | None,
    dates: Mapping[str, LineDates] | None = None,
) -> Proposal:
    """Put what an agent wants to note of a customer before a person, with the dates of its lines."""
    live = {name: getattr(profile, name) for name in values}
    change = ProposedChange(
        ProposalKind.PROFILE_CHANGE,
        actor.agent_id,
        profile_sha256(profile),
        {
            **values,
            **_waiting_line_dates(
                {}, [line for text in values.values() for line in distinct_lines(text)], dates, actor
            ),
        },
        evidence=evidence or {},
        base_version=profile.version,
        base_content=live,
        risk=tier_of({RiskFactor.CUSTOMER_ONLY}),
        taint=Taint.CUSTOMER,
    )
    return open_proposal(profile, actor=actor, act=Act.PROFILE_PROPOSE, change=change, terms=review_terms(actor))


def profile_sha256(profile: CustomerProfile) -> str:
    """What a change of a profile was read from."""
    return content_sha256(profile.preferences, profile.notes)


def waiting_and_refused(
    row: RememberedText, kind: ProposalKind, actor: Actor
) -> tuple[Proposal | None, frozenset[str]]:
    """What waits, and the lines that a person has said no to."""
    about = Proposal.objects.visible_to(actor).about(row).filter(kind=kind)
    said_no = about.filter(state__in=[Proposal.State.REJECTED, Proposal.State.QUARANTINED])
    contents = said_no.values_list("content", flat=True)[:PROPOSALS_COMPARED]
    return about.open().first(), frozenset(
        strip_line(line) for content in contents for line in content.get("lines", [])
    )


def _merge_waiting_lines(
    waiting: Proposal | None,
    lines: Iterable[str],
    drops: Iterable[str],
    dates: Mapping[str, LineDates] | None,
    actor: Actor,
) -> dict[str, Any]:
    before = waiting.content if waiting else {}
    words = {
        "lines": list(dict.fromkeys([*before.get("lines", []), *lines])),
        "removed_lines": list(dict.fromkeys([*before.get("removed_lines", []), *drops])),
    }
    dated = _waiting_line_dates(before, words["lines"], dates, actor)
    return {**{name: found for name, found in words.items() if found}, **dated}


def _waiting_line_dates(
    before: Mapping[str, Any], lines: Iterable[str], dates: Mapping[str, LineDates] | None, actor: Actor
) -> dict[str, dict[str, str]]:
    """The dates of lines that wait: as they were, unless they are said anew."""
    all_dates = {**proposed_dates(before, actor), **{strip_line(line): found for line, found in (dates or {}).items()}}
    dated = {strip_line(line): all_dates[strip_line(line)] for line in lines if strip_line(line) in all_dates}
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
    """Whose words the whole is: what stays of it brings its own."""
    stays = [row.taint] if distinct_lines(row.body) & distinct_lines(wanted) and row.taint != Taint.OPERATOR else []
    return Taint.joined(Taint.AGENT, *stays, *(line.whose.value for line in quoted_lines))
