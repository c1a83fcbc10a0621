"""What a proposal comes to, in the words of a reviewer."""

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Any

from django.utils import timezone
from django.utils.timesince import timesince, timeuntil

from apps.console.framework.actor_names import People
from apps.console.framework.markdown_rendering import plain_words
from apps.console.framework.row_titles import moment
from apps.console.framework.text_diffs import label_of
from apps.governance.models import Proposal
from apps.governance.policy.risk_tiers import Panel, Touch
from apps.governance.proposals.approval_rules import CONVERSATIONS
from apps.review.appliers.registry import applier_of
from apps.review.proposal_sheet import Sheet

EXCERPT = 110
# So much of a text is read for the beginning of its plain words.
READ = 1_000
SOON = timedelta(days=3)
MINUTE = timedelta(minutes=1)
NUMBERS = {1: "one reviewer", 2: "two reviewers"}

TOUCHED: Mapping[Touch, str] = MappingProxyType(
    {
        Touch.AVOID: "what the agent must never do",
        Touch.CONTRACT: "what the agent has to answer in",
        Touch.AUTONOMOUS_SEND: "sending without a person",
        Touch.PAYING_TOOL: "a tool that moves money",
        Touch.PERSONA: "how the agent speaks to every customer",
        Touch.RULES: "rules that hold in every conversation",
        Touch.WRITING_TOOL: "a tool that changes data",
        Touch.AGENT_WIDE_MEMORY: "every customer, by way of memory",
        Touch.SKILL_TEXT: "the text of a runbook",
        Touch.CUSTOMER_ONLY: "one customer alone",
        Touch.RETIREMENT: "nothing new: it takes something away",
    }
)


def excerpt(proposal: Proposal) -> str:
    """What would be said, on one line: the fields, and how the words begin."""
    texts = texts_of(proposal.words).items()
    said = [(name, text) for name, text in texts if text.strip()]
    if not said:
        return " ".join(proposal.rationale.split())[:EXCERPT] or applier_of(proposal).consequence
    name, longest = max(said, key=lambda each: len(each[1]))
    others = f" and {len(said) - 1} more" if len(said) > 1 else ""
    begins = plain_words(longest[:READ])
    is_cut = len(begins) > EXCERPT or len(longest) > READ
    return f"{label_of(name).capitalize()}{others}: {begins[:EXCERPT]}{'…' if is_cut else ''}"


def texts_of(said: Mapping[str, Any]) -> dict[str, str]:
    """The words field by field, without the days that are said of lines."""
    return {name: as_text(value) for name, value in said.items() if not isinstance(value, Mapping)}


def as_text(value: Any) -> str:
    """A field's words as one text; lines stand one below the other, each behind its day where it has one."""
    if isinstance(value, Mapping):
        return "\n".join(f"{day} {line}" for line, day in value.items())
    return "\n".join(map(str, value)) if isinstance(value, list) else str(value)


def evidence(proposal: Proposal, seconded: int) -> str:
    """How many conversations speak for it, `seconded` later ones among them, and how often it was asked for where that is more."""
    named = len(proposal.evidence.get(CONVERSATIONS, ())) + seconded
    said = f"{named} conversation{'' if named == 1 else 's'}" if named else "none"
    asked = proposal.support_count
    return f"{said}, asked for {asked} times" if asked > max(named, 1) else said


def commented(count: int) -> str:
    """How much people said about it; nothing where nobody did."""
    return f"{count} comment{'' if count == 1 else 's'}" if count else ""


def claim(proposal: Proposal, people: People, now: datetime) -> str:
    """Who looks at it, as long as that stands."""
    if not proposal.claim_stands(now) or proposal.claimed_at is None:
        return ""
    return f"{people[proposal.claimed_by]} looks at this since {timezone.localtime(proposal.claimed_at):%H:%M}"


def waits(proposal: Proposal) -> str:
    """How long it has waited, or when that ended."""
    if proposal.state != Proposal.State.OPEN:
        return f"on {moment(proposal.decided_at)}"
    if timezone.now() - proposal.created_at < MINUTE:
        return "for less than a minute"
    return f"for {str(timesince(proposal.created_at)).split(',')[0]}"


def expiry(proposal: Proposal, now: datetime) -> str:
    """How long there is left to decide."""
    if proposal.expires_at is None:
        return "never"
    if proposal.expires_at <= now:
        return "its time is over; it closes at the next sweep"
    left = str(timeuntil(proposal.expires_at)).split(",")[0]
    soon = ", so decide soon" if proposal.expires_at - now < SOON else ""
    return f"in {left}, on {moment(proposal.expires_at)}{soon}"


def touched(sheet: Sheet) -> list[str]:
    """What the change reaches."""
    return [TOUCHED[touch] for touch in Touch if touch in sheet.touches]


def asks_for(panel: Panel) -> str:
    """Who has to agree."""
    if panel.may_self_approve:
        return f"It takes {NUMBERS[panel.reviewers]}; whoever proposed or edited the words may be the one."
    return f"It takes {NUMBERS[panel.reviewers]} who neither proposed nor edited the words."


def standing(sheet: Sheet, people: People, user_id: int | None) -> Iterator[str]:
    """Who has agreed, and whether the reader may."""
    for one in sheet.approvals:
        counts = (
            ""
            if sheet.panel.may_self_approve or not one.is_self_approval
            else " It is their own wording, so it does not count."
        )
        who = "You" if one.user_id == user_id else people[one.user_label]
        yield f"{who} approved these words on {moment(one.created_at)}.{counts}"
    missing = sheet.panel.reviewers - sheet.proposal.approval_count
    if sheet.approvals and missing > 0:
        yield f"Needs {'one more reviewer' if missing == 1 else f'{missing} more reviewers'}."
    if not may_agree(sheet, user_id) and not has_agreed(sheet, user_id):
        yield "You proposed or edited these words, so others have to approve them."


def has_agreed(sheet: Sheet, user_id: int | None) -> bool:
    """Whether the reader said yes to these words already."""
    return any(one.user_id == user_id for one in sheet.approvals)


def may_agree(sheet: Sheet, user_id: int | None) -> bool:
    """Whether a yes of the reader to the words as they stand would count."""
    return not has_agreed(sheet, user_id) and (sheet.panel.may_self_approve or not sheet.is_author)
