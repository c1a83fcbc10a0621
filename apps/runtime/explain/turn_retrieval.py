"""What of the learning stood before a turn's model: ids and counts alone, read off the owners of the user turn's bytes (R165)."""

import json
from dataclasses import astuple, dataclass
from typing import Any, Final

from apps.runtime.models import Session, Turn

VERSION_TYPE: Final = "learning.learningversion"
DRAFT_TYPE: Final = "desk.draft"
EXAMPLE_TYPE: Final = "learning.example"
TURNS_LISTED: Final = 50


@dataclass(frozen=True, slots=True)
class Retrieval:
    """Which learning version the conversation is pinned to, how many of its bullets were shown, and which corrections.

    `example_ids` are drafts for the customer, `bank_example_ids` examples that people keep for all customers.
    """

    learning_version_id: int | None
    bullet_count: int
    example_ids: tuple[int, ...]
    bank_example_ids: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class TurnRetrieval:
    """What one turn read of it."""

    turn_id: int
    learning_version_id: int | None
    bullet_count: int
    example_ids: tuple[int, ...]
    bank_example_ids: tuple[int, ...]


def retrievals_of_session(session: Session) -> tuple[TurnRetrieval, ...]:
    """What the latest turns of a session read, the latest first, in two statements."""
    turns = session.turns.order_by("-id").prefetch_related("calls")[:TURNS_LISTED]
    return tuple(TurnRetrieval(turn.pk, *astuple(retrieval_of(turn))) for turn in turns)


def retrieval_of(turn: Turn) -> Retrieval:
    """As the journal has it; the turn's calls may have been fetched with it."""
    table = user_turn_owners(turn) or {"owners": [], "runs": []}
    owners = [owner if isinstance(owner, list) else ["", 0] for owner in table["owners"]]
    shown = {(*owners[place][:2], line) for place, line in zip(table["runs"][::3], table["runs"][1::3], strict=True)}
    bullets = [line for kind, _, line in shown if kind == VERSION_TYPE]
    examples, bank = (sorted({number for kind, number, _ in shown if kind == of}) for of in (DRAFT_TYPE, EXAMPLE_TYPE))
    return Retrieval(turn.learning_version_id, len(bullets), tuple(examples), tuple(bank))


def user_turn_owners(turn: Turn) -> Any:  # Any: a table of segments as it was stored
    """Whose words each byte of the user turn is; the turn's calls may have been fetched with it."""
    segments = turn.user_turn_segments or stored_user_turn(turn).get("segments")
    return json.loads(segments) if isinstance(segments, str) else segments


def stored_user_turn(turn: Turn) -> dict[str, Any]:  # Any: as it was stored
    """What was asked, as the first step of the turn's round keeps it; empty where the transcript has it."""
    return (
        next((call.user_turn for call in turn.calls.all() if call.user_turn and call.round == turn.round), None) or {}
    )
