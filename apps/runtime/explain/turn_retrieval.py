"""The learned content in a turn's prompt, as ids and counts, found by the recorded owners of the user turn's bytes (R165)."""

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
    """The learning version pinned for the conversation, the number of its bullets shown, and the corrections shown.

    `example_ids` are the corrected drafts for this customer, `bank_example_ids` the examples that people keep for all customers.
    """

    learning_version_id: int | None
    bullet_count: int
    example_ids: tuple[int, ...]
    bank_example_ids: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class TurnRetrieval:
    """The learned content in the prompt of one turn."""

    turn_id: int
    learning_version_id: int | None
    bullet_count: int
    example_ids: tuple[int, ...]
    bank_example_ids: tuple[int, ...]


def retrievals_of_session(session: Session) -> tuple[TurnRetrieval, ...]:
    """The learned content of a session's latest turns, the latest first, in two queries."""
    turns = session.turns.order_by("-id").prefetch_related("calls")[:TURNS_LISTED]
    return tuple(TurnRetrieval(turn.pk, *astuple(retrieval_of(turn))) for turn in turns)


def retrieval_of(turn: Turn) -> Retrieval:
    """The learned content of a turn, from the journal. Prefetched calls of the turn are used."""
    table = user_turn_owners(turn) or {"owners": [], "runs": []}
    owners = [owner if isinstance(owner, list) else ["", 0] for owner in table["owners"]]
    shown = {(*owners[place][:2], line) for place, line in zip(table["runs"][::3], table["runs"][1::3], strict=True)}
    bullets = [line for kind, _, line in shown if kind == VERSION_TYPE]
    examples, bank = (sorted({number for kind, number, _ in shown if kind == of}) for of in (DRAFT_TYPE, EXAMPLE_TYPE))
    return Retrieval(turn.learning_version_id, len(bullets), tuple(examples), tuple(bank))


def user_turn_owners(turn: Turn) -> Any:  # Any: a table of segments as it was stored
    """The owners of the user turn's bytes, as stored. Prefetched calls of the turn are used."""
    segments = turn.user_turn_segments or stored_user_turn(turn).get("segments")
    return json.loads(segments) if isinstance(segments, str) else segments


def stored_user_turn(turn: Turn) -> dict[str, Any]:  # Any: as it was stored
    """The user turn as stored with the first step of the round; empty if only the transcript has it."""
    return (
        next((call.user_turn for call in turn.calls.all() if call.user_turn and call.round == turn.round), None) or {}
    )
