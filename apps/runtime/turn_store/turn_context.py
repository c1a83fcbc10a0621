"""The context of a claimed turn: the state of its tenant and conversation at the time of the claim, parsed from JSON."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Self
from zoneinfo import ZoneInfo

from apps.desk.rules import SendRuleValue
from apps.learning.lessons.rules import render_summary
from apps.llm.model_backend import JsonObject
from apps.prompt.prompt_input import SendMode, Slot
from apps.prompt.rendering.user_turn import remove_learning
from apps.runtime.limits.turn_limits import history_skipped
from apps.runtime.models import Session
from apps.runtime.prompt_snapshot.part_cache import StoredPart
from apps.runtime.turn_store.cached_prefixes import EarlierCalls, parse_earlier_calls
from apps.runtime.turn_store.json_rows import JsonRow, row_from_json
from apps.runtime.turn_store.model_steps import parse_tool_calls, replayed_message, skills_read
from apps.tenants.authentication.actor_resolution import GrantRow, interned_grants

UTC = "UTC"
# The most corrections shown with a turn, the latest first.
MAX_EXAMPLES = 3
# The number of characters of each message that are compared to choose examples.
COMPARED_CHARACTERS = 4_000


@dataclass(frozen=True, slots=True)
class CurrentSession:
    """The conversation's latest session, the time of its last use, and the parts of its prefix, tools first.

    `has_quarantined_text` is true if a person has quarantined text of the prefix since it was frozen.
    """

    session: Session
    used_at: datetime
    parts: tuple[StoredPart, ...]
    has_quarantined_text: bool = False

    @property
    def tells_of_customer(self) -> bool:
        """Whether the session's prefix contains a customer profile."""
        return any(part.slot == Slot.PROFILE for part in self.parts)

    @classmethod
    def of(cls, claim_row: JsonRow) -> "CurrentSession | None":
        if claim_row["session"] is None:
            return None
        session = row_from_json(Session, claim_row["session"])
        used_at = claim_row["last_turn_at"]
        return cls(
            session,
            datetime.fromisoformat(used_at) if used_at else session.snapshot_at,
            tuple(StoredPart(**part) for part in claim_row["parts"]),
            claim_row["has_quarantined_text"],
        )


@dataclass(frozen=True, slots=True)
class History:
    """The latest messages of the conversation, which are replayed, and the number of messages before them.

    The messages are those sent, byte for byte, except that bullets of a withdrawn learning version are removed (`is_cut`).
    `skills` are the skills whose text is in the history, so that the agent can follow them without reading them again.
    """

    skipped: int
    messages: tuple[JsonObject, ...]
    is_cut: bool = False
    skills: frozenset[int] = frozenset()

    @classmethod
    def of(cls, claim_row: JsonRow) -> Self:
        message_count, withdrawn = claim_row["message_count"], claim_row["withdrawn_learning"]
        skipped = history_skipped(message_count)
        kept = message_count - skipped
        recent = (
            [(wire, parse_tool_calls(calls)) for wire, calls in (claim_row["history"] or [])[-kept:]] if kept else []
        )
        sent = tuple(replayed_message(wire, calls) for wire, calls in recent)
        skills = frozenset(skills_read(call for _, calls in recent for call in calls))
        if withdrawn is None:
            return cls(skipped, sent, skills=skills)
        messages = tuple(_without_learning(wire, render_summary(withdrawn)) for wire in sent)
        return cls(skipped, messages, is_cut=messages != sent, skills=skills)


def _without_learning(wire: JsonObject, bullets: str) -> JsonObject:
    content = wire["content"]
    if wire["role"] != "user" or not isinstance(content, list):
        return wire
    return {**wire, "content": [_clean_block(block, bullets) for block in content]}


def _clean_block(block: Any, bullets: str) -> Any:  # Any: a content block of the Messages API
    return {**block, "text": remove_learning(block["text"], bullets)} if block["type"] == "text" else block


@dataclass(frozen=True, slots=True)
class CallingAgent:
    """The agent that delegated to this conversation, and the cost of the conversation's earlier turns."""

    agent_id: int
    version: int
    title: str
    spent_micro_usd: int


@dataclass(frozen=True, slots=True)
class PinnedLearning:
    """The learning version pinned for the conversation."""

    id: int
    version: int
    body: str
    approver: str
    taint: str


@dataclass(frozen=True, slots=True)
class CorrectedDraft:
    """A draft for this customer, and the text that a person sent instead of it."""

    id: int
    version: int
    draft: str
    sent: str
    by: str


@dataclass(frozen=True, slots=True)
class BankExample:
    """An example that a person keeps for all customers of the agent; it names no customer."""

    id: int
    version: int
    situation: str
    draft: str
    correction: str
    by: str
    taint: str


@dataclass(frozen=True, slots=True)
class TurnContext:
    """Everything that a turn needs before its first model call, as of its claim."""

    now: datetime
    running: CurrentSession | None
    history: History
    grants: tuple[GrantRow, ...]
    zone: ZoneInfo
    is_customer_proof_required: bool
    rules: tuple[SendRuleValue, ...]
    open_escalations: int
    # The number of answered turns; 0 if nothing may be learned.
    answered_turns: int
    earlier_calls: EarlierCalls | None
    calling_agent: CallingAgent | None = None
    learning: PinnedLearning | None = None
    corrected_drafts: tuple[CorrectedDraft, ...] = ()
    # Sorted by how many words their situations share with the new messages.
    bank_examples: tuple[BankExample, ...] = ()

    @classmethod
    def of(cls, claim_row: JsonRow) -> Self:
        """Parse the result of `claim_turn.sql`, which documents each key."""
        settings = claim_row["settings"] or {}
        return cls(
            now=datetime.fromisoformat(claim_row["now"]),
            running=CurrentSession.of(claim_row),
            history=History.of(claim_row),
            grants=tuple(
                (origin, agent, interned_grants(frozenset(names))) for origin, agent, names in claim_row["grants"] or ()
            ),
            zone=ZoneInfo(settings.get("timezone", UTC)),
            is_customer_proof_required=settings.get("is_customer_proof_required", True),
            rules=parse_send_rules(claim_row["send_rules"] or ()),
            open_escalations=claim_row["open_escalations"],
            answered_turns=claim_row["answered_turns"],
            earlier_calls=parse_earlier_calls(claim_row["earlier_calls"]),
            calling_agent=CallingAgent(**claim_row["calling_agent"]) if claim_row["calling_agent"] else None,
            learning=PinnedLearning(**claim_row["learning"]) if claim_row["learning"] else None,
            corrected_drafts=tuple(CorrectedDraft(**each) for each in claim_row["corrected_drafts"] or ()),
            bank_examples=tuple(BankExample(**each) for each in claim_row["bank_examples"] or ()),
        )


def parse_send_rules(rows: Sequence[Sequence[Any]]) -> tuple[SendRuleValue, ...]:
    """Parse send rules into the form that `send_mode_of` takes."""
    return tuple(SendRuleValue(SendMode(mode), channel, skill_id) for mode, channel, skill_id in rows)
