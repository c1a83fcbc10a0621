"""What a claim brings beside the turn: the state of the tenant and the conversation at one moment, read back from JSON."""

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
# Of corrections shown with a turn, the latest.
MAX_EXAMPLES = 3
# By so much of each message examples of others are chosen.
COMPARED_CHARACTERS = 4_000


@dataclass(frozen=True, slots=True)
class CurrentSession:
    """The conversation's latest session, when it was last used, and the parts of its prefix, the tools first."""

    session: Session
    used_at: datetime
    parts: tuple[StoredPart, ...]

    @property
    def tells_of_customer(self) -> bool:
        """Whether a profile is frozen in it."""
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
        )


@dataclass(frozen=True, slots=True)
class History:
    """The end of what was said, and how many messages of the model's form stand before it.

    It is what was sent, byte for byte, but for the bullets of a learning version that was withdrawn since (`is_cut`).
    `skills` are those whose runbooks stand in it, so that nobody has to read them again to follow them.
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
    """The agent that asked here, and what answering has cost before this turn."""

    agent_id: int
    version: int
    title: str
    spent_micro_usd: int


@dataclass(frozen=True, slots=True)
class PinnedLearning:
    """The learning version that the conversation reads, as it stands now."""

    id: int
    version: int
    body: str
    approver: str
    taint: str


@dataclass(frozen=True, slots=True)
class CorrectedDraft:
    """A draft for this customer, and what a person sent in its place."""

    id: int
    version: int
    draft: str
    sent: str
    by: str


@dataclass(frozen=True, slots=True)
class BankExample:
    """An example that a person keeps for every customer of the agent; nobody is named in it."""

    id: int
    version: int
    situation: str
    draft: str
    correction: str
    by: str
    taint: str


@dataclass(frozen=True, slots=True)
class TurnContext:
    """Everything a turn needs before its first call, as it stood when the turn was claimed."""

    now: datetime
    running: CurrentSession | None
    history: History
    grants: tuple[GrantRow, ...]
    zone: ZoneInfo
    is_customer_proof_required: bool
    rules: tuple[SendRuleValue, ...]
    open_escalations: int
    # Turns that were answered before; 0 where nothing may be learned.
    answered_turns: int
    earlier_calls: EarlierCalls | None
    calling_agent: CallingAgent | None = None
    learning: PinnedLearning | None = None
    corrected_drafts: tuple[CorrectedDraft, ...] = ()
    # First the one whose situation has most words of what was just written.
    bank_examples: tuple[BankExample, ...] = ()

    @classmethod
    def of(cls, claim_row: JsonRow) -> Self:
        """Parse the answer of `claim_turn.sql`, which says what each key is."""
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
    """Send rules as `send_mode_of` takes them."""
    return tuple(SendRuleValue(SendMode(mode), channel, skill_id) for mode, channel, skill_id in rows)
