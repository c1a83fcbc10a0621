"""Sentences about a proposal for reviewers."""

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Any

from django.utils import timezone
from django.utils.timesince import timesince, timeuntil

from apps.console.framework.actor_names import ActorNames
from apps.console.framework.markdown_rendering import plain_words
from apps.console.framework.row_titles import format_moment
from apps.console.framework.text_diffs import field_label
from apps.governance.models import Proposal
from apps.governance.policy.risk_tiers import RequiredApprovals, RiskFactor
from apps.governance.proposals.approval_rules import CONVERSATIONS
from apps.review.appliers.registry import applier_of
from apps.review.review_sheet import ProposalSheet

EXCERPT_CHARACTERS = 110
# So much of a text is read to find the beginning of its plain words.
READ_CHARACTERS = 1_000
EXPIRES_SOON = timedelta(days=3)
MINUTE = timedelta(minutes=1)
REVIEWER_COUNTS = {1: "one reviewer", 2: "two reviewers"}

RISK_FACTOR_LABELS: Mapping[RiskFactor, str] = MappingProxyType(
    {
        RiskFactor.AVOID: "what the agent must never do",
        RiskFactor.CONTRACT: "what the agent has to answer in",
        RiskFactor.AUTONOMOUS_SEND: "sending without a person",
        RiskFactor.PAYING_TOOL: "a tool that moves money",
        RiskFactor.ORGANISATION_RULES: "rules of every agent",
        RiskFactor.PERSONA: "how the agent speaks to every customer",
        RiskFactor.RULES: "rules that hold in every conversation",
        RiskFactor.WRITING_TOOL: "a tool that changes data",
        RiskFactor.AGENT_WIDE_MEMORY: "every customer, by way of memory",
        RiskFactor.SKILL_TEXT: "the text of a runbook",
        RiskFactor.CUSTOMER_ONLY: "one customer alone",
        RiskFactor.RETIREMENT: "nothing new: it takes something away",
    }
)


def excerpt(proposal: Proposal) -> str:
    """Return the proposed content on one line: the names of the fields, and the beginning of the words."""
    texts = texts_of(proposal.words).items()
    filled_texts = [(name, text) for name, text in texts if text.strip()]
    if not filled_texts:
        return " ".join(proposal.rationale.split())[:EXCERPT_CHARACTERS] or applier_of(proposal).consequence
    name, longest = max(filled_texts, key=lambda each: len(each[1]))
    others = f" and {len(filled_texts) - 1} more" if len(filled_texts) > 1 else ""
    begins = plain_words(longest[:READ_CHARACTERS])
    is_cut = len(begins) > EXCERPT_CHARACTERS or len(longest) > READ_CHARACTERS
    return f"{field_label(name).capitalize()}{others}: {begins[:EXCERPT_CHARACTERS]}{'…' if is_cut else ''}"


def texts_of(fields: Mapping[str, Any]) -> dict[str, str]:
    """Return the texts field by field, without the days that belong to lines."""
    return {name: as_text(value) for name, value in fields.items() if not isinstance(value, Mapping)}


def as_text(value: Any) -> str:
    """Return a field as one text: lines one below the other, each behind its day if it has one."""
    if isinstance(value, Mapping):
        return "\n".join(f"{day} {line}" for line, day in value.items())
    return "\n".join(map(str, value)) if isinstance(value, list) else str(value)


def evidence_summary(proposal: Proposal, seconded: int) -> str:
    """Return the number of conversations that support it, with `seconded` later ones, and of requests if that is more."""
    named = len(proposal.evidence.get(CONVERSATIONS, ())) + seconded
    conversation_count = f"{named} conversation{'' if named == 1 else 's'}" if named else "none"
    asked = proposal.support_count
    return f"{conversation_count}, asked for {asked} times" if asked > max(named, 1) else conversation_count


def comment_summary(count: int) -> str:
    """Return the number of comments in words; empty if there are none."""
    return f"{count} comment{'' if count == 1 else 's'}" if count else ""


def claim_sentence(proposal: Proposal, people: ActorNames, now: datetime) -> str:
    """Return the person who has claimed it and since when, while the claim holds."""
    if not proposal.claim_stands(now) or proposal.claimed_at is None:
        return ""
    return f"{people[proposal.claimed_by]} looks at this since {timezone.localtime(proposal.claimed_at):%H:%M}"


def waiting_time(proposal: Proposal) -> str:
    """Return how long it has waited, or when it was decided."""
    if not proposal.is_open:
        return f"on {format_moment(proposal.decided_at or proposal.expires_at)}"
    if timezone.now() - proposal.created_at < MINUTE:
        return "for less than a minute"
    return f"for {str(timesince(proposal.created_at)).split(',')[0]}"


def expiry_sentence(proposal: Proposal, now: datetime) -> str:
    """Return how long there is left to decide."""
    if proposal.expires_at is None:
        return "never"
    left = str(timeuntil(proposal.expires_at)).split(",")[0]
    soon = ", so decide soon" if proposal.expires_at - now < EXPIRES_SOON else ""
    return f"in {left}, on {format_moment(proposal.expires_at)}{soon}"


def touched_areas(sheet: ProposalSheet) -> list[str]:
    """Return the areas that the change touches."""
    return [RISK_FACTOR_LABELS[touch] for touch in RiskFactor if touch in sheet.touches]


def required_approvals_sentence(panel: RequiredApprovals) -> str:
    """Return how many reviewers have to approve, and who may be one."""
    if panel.may_self_approve:
        return f"It takes {REVIEWER_COUNTS[panel.reviewers]}; the person who proposed or edited the words may be one."
    return f"It takes {REVIEWER_COUNTS[panel.reviewers]} who neither proposed nor edited the words."


def approval_sentences(sheet: ProposalSheet, people: ActorNames, user_id: int | None) -> Iterator[str]:
    """Yield who has approved, what is missing, and whether the reader may approve."""
    for one in sheet.approvals:
        counts = (
            ""
            if sheet.panel.may_self_approve or not one.is_self_approval
            else " It is their own wording, so it does not count."
        )
        who = "You" if one.user_id == user_id else people[one.user_label]
        yield f"{who} approved these words on {format_moment(one.created_at)}.{counts}"
    missing = sheet.panel.reviewers - sheet.proposal.approval_count
    if sheet.approvals and missing > 0:
        yield f"Needs {'one more reviewer' if missing == 1 else f'{missing} more reviewers'}."
    if not may_agree(sheet, user_id) and not has_agreed(sheet, user_id):
        yield "You proposed or edited these words, so others have to approve them."


def has_agreed(sheet: ProposalSheet, user_id: int | None) -> bool:
    """Return whether the reader has approved these words already."""
    return any(one.user_id == user_id for one in sheet.approvals)


def may_agree(sheet: ProposalSheet, user_id: int | None) -> bool:
    """Return whether an approval of the present words by the reader would count."""
    return not has_agreed(sheet, user_id) and (sheet.panel.may_self_approve or not sheet.is_author)
