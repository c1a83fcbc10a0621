"""What an agent writes to memory at once, and what goes before a person first (Z-19, Z-22)."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from apps.governance.actors import Actor, Role
from apps.governance.database.actor_transaction import acting
from apps.governance.errors import Invalid, Unheard
from apps.governance.models import Proposal, Taint
from apps.governance.policy.risk_tiers import Touch, tier_of
from apps.governance.policy.table import Act
from apps.governance.proposals.actions import open_proposal
from apps.governance.proposals.approval_rules import ProposedChange
from apps.governance.stored_text import content_sha256
from apps.memory.line_dates import proposed_dates
from apps.memory.line_ledger import Remembered, foreign_lines
from apps.memory.models import AgentMemory, CustomerProfile, MemoryBlock
from apps.memory.rules import BLOCK_CHARACTERS, BODY_CHARACTERS
from apps.prompt.memory_lines.line_diff import bare, known
from apps.prompt.memory_lines.line_edits import too_long
from apps.prompt.memory_lines.line_expiry import LineDates, said_dates
from apps.prompt.memory_lines.write_holds import HeldLine, MemoryReview, answer, parted, repeated
from apps.prompt.text_reuse.derived_lines import Heard
from apps.tenants.models import TenantSettings
from apps.tenants.review_terms import review_terms
from apps.tenants.tenant_clock import zone_of

Kind = Proposal.Kind

# The proposals whose lines a customer may try to bring in once more.
PROPOSALS_HEARD = 50
_LINES = {AgentMemory: Kind.MEMORY_LINES, MemoryBlock: Kind.BLOCK_LINES}
_BODY = {AgentMemory: Kind.MEMORY_BODY, MemoryBlock: Kind.BLOCK_BODY}
_MOST = {AgentMemory: BODY_CHARACTERS, MemoryBlock: BLOCK_CHARACTERS}
_ACTS = {AgentMemory: Act.MEMORY_PROPOSE, MemoryBlock: Act.BLOCK_PROPOSE}


@dataclass(frozen=True, slots=True)
class Share:
    """Of one write: the text that may stand at once and whose words that is, and what of the rest goes before a person."""

    text: str
    taint: Taint
    lines: tuple[HeldLine, ...] = ()
    drops: tuple[str, ...] = ()
    whole: str | None = None
    said: tuple[HeldLine, ...] = ()


def share_of(row: Remembered, wanted: str, *, actor: Actor, heard: Heard | None) -> Share:
    """What of a new body the tenant lets an agent write by itself; people write what they like."""
    if actor.role is not Role.AGENT:
        return Share(wanted, Taint.OPERATOR if actor.is_person else Taint.AGENT)
    # What fits nowhere does not wait for a person either, who could only say no.
    if advice := too_long(wanted, _MOST[type(row)]):
        raise Invalid(f"There is no room for it. {advice}", {"body": [advice]})
    heard = with_refused(row, required(heard), actor, wanted)
    review = review_of(actor)
    if review is MemoryReview.ALL:
        return Share(row.body, Taint.AGENT, whole=wanted if known(wanted) != known(row.body) else None)
    said = repeated(row.body, wanted, heard)
    if review is MemoryReview.OFF:
        return Share(wanted, _taint(row, wanted, said), said=said)
    parts = parted(row.body, wanted, row.approved_body, heard)
    return Share(parts.text, _taint(row, parts.text, ()), parts.held, parts.drops)


def hold_back(
    row: Remembered,
    share: Share,
    *,
    actor: Actor,
    evidence: Mapping[str, Any] | None,
    dates: Mapping[str, LineDates] | None = None,
) -> Proposal | None:
    """Put the rest before a person: its lines join those that wait already, each until when its writer says it holds."""
    if share.whole is not None:
        whole = {"body": share.whole, **_dated({}, known(share.whole) - known(row.body), dates, actor)}
        return _propose(row, _BODY[type(row)], whole, Taint.AGENT, actor, evidence)
    if not share.lines and not share.drops:
        return None
    kind = _LINES[type(row)]
    waiting, refused = waiting_and_refused(row, kind, actor)
    lines = [line for line in share.lines if bare(line.text) not in refused]
    words = _joined(waiting, [line.text for line in lines], share.drops, dates, actor)
    if (waiting is not None and words == waiting.content) or not (lines or share.drops):
        return waiting
    taint = Taint.joined(Taint.AGENT, *(line.whose.value for line in share.lines))
    return _propose(row, kind, words, taint, actor, evidence)


def propose_lines(
    row: Remembered,
    lines: Iterable[str],
    *,
    actor: Actor,
    evidence: Mapping[str, Any] | None,
    dates: Mapping[str, LineDates],
) -> Proposal:
    """Put lines before a person that stood there, until whenever they did, and are taken out."""
    kind = _LINES[type(row)]
    words = _joined(waiting_and_refused(row, kind, actor)[0], lines, (), dates, actor)
    return _propose(row, kind, words, Taint.CUSTOMER, actor, evidence)


def told(row: Remembered, sent: str, actor: Actor) -> str:
    """What an agent is told of its write beyond that it was saved; empty if all of it was."""
    with acting(actor):
        kinds = (_LINES[type(row)], _BODY[type(row)])
        refused = frozenset[str]().union(*(waiting_and_refused(row, kind, actor)[1] for kind in kinds))
    return answer(sent, row.body, refused)


def required(heard: Heard | None) -> Heard:
    """What the agent heard; a surface that forgot to ask is refused, not believed."""
    if heard is None:
        raise Unheard(
            "Nobody said what this agent heard, so nothing tells its words from a customer's. Nothing was saved."
        )
    return heard


def review_of(actor: Actor) -> MemoryReview:
    """What the tenant wants reviewed."""
    return MemoryReview(TenantSettings.objects.visible_to(actor).get().memory_review)


def with_refused(row: Remembered | CustomerProfile, heard: Heard, actor: Actor, wanted: str = "") -> Heard:
    """What waits or was turned down is somebody's words, however long ago they said it; so is what once stood as theirs."""
    earlier = Proposal.objects.visible_to(actor).about(row).exclude(state=Proposal.State.APPLIED)
    contents = list(earlier.filter(kind__in=_LINES.values()).values_list("content", flat=True)[: PROPOSALS_HEARD + 1])
    lines = [line for content in contents for line in content.get("lines", [])]
    if not isinstance(row, CustomerProfile):
        lines += foreign_lines(row, wanted, actor)
    return Heard(
        (*heard.customers, *lines), heard.tools, heard.names, heard.is_whole and len(contents) <= PROPOSALS_HEARD
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
        Kind.PROFILE_CHANGE,
        actor.agent_id,
        profile_sha256(profile),
        {**values, **_dated({}, [line for text in values.values() for line in known(text)], dates, actor)},
        evidence=evidence or {},
        base_version=profile.version,
        base_content=live,
        risk=tier_of({Touch.CUSTOMER_ONLY}),
        taint=Taint.CUSTOMER,
    )
    return open_proposal(profile, actor=actor, act=Act.PROFILE_PROPOSE, change=change, terms=review_terms(actor))


def profile_sha256(profile: CustomerProfile) -> str:
    """What a change of a profile was read from."""
    return content_sha256(profile.preferences, profile.notes)


def waiting_and_refused(row: Remembered, kind: Kind, actor: Actor) -> tuple[Proposal | None, frozenset[str]]:
    """What waits, and the lines that a person has said no to."""
    about = Proposal.objects.visible_to(actor).about(row).filter(kind=kind)
    said_no = about.filter(state__in=[Proposal.State.REJECTED, Proposal.State.QUARANTINED])
    contents = said_no.values_list("content", flat=True)[:PROPOSALS_HEARD]
    return about.open().first(), frozenset(bare(line) for content in contents for line in content.get("lines", []))


def _joined(
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
    dated = _dated(before, words["lines"], dates, actor)
    return {**{name: found for name, found in words.items() if found}, **dated}


def _dated(
    before: Mapping[str, Any], lines: Iterable[str], dates: Mapping[str, LineDates] | None, actor: Actor
) -> dict[str, dict[str, str]]:
    """The dates of lines that wait: as they were, unless they are said anew."""
    told = {**proposed_dates(before, actor), **{bare(line): found for line, found in (dates or {}).items()}}
    dated = {bare(line): told[bare(line)] for line in lines if bare(line) in told}
    return said_dates(dated, zone_of(actor)) if dated else {}


def _propose(
    row: Remembered,
    kind: Kind,
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
        risk=tier_of({Touch.AGENT_WIDE_MEMORY}),
        taint=taint,
    )
    return open_proposal(row, actor=actor, act=_ACTS[type(row)], change=change, terms=review_terms(actor))


def _taint(row: Remembered, wanted: str, said: Iterable[HeldLine]) -> Taint:
    """Whose words the whole is: what stays of it brings its own."""
    stays = [row.taint] if known(row.body) & known(wanted) and row.taint != Taint.OPERATOR else []
    return Taint.joined(Taint.AGENT, *stays, *(line.whose.value for line in said))
