"""Rules of lessons: which lessons a digest reads, and the life cycle of learning versions; pure."""

import hashlib
import json
import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from apps.prompt.text_limits import LEARNING_BULLET_CHARACTERS, LEARNING_BULLETS
from apps.text_analysis.contradictions.statements import Statement, parse_statements
from apps.text_analysis.word_stems import word_keys

LESSONS_PER_DIGEST: Final = 100
CORRECTIONS_PER_DIGEST: Final = 50
PROMOTABLE_SUPPORT: Final = 2
PROMOTABLE_CONFIDENCE: Final = 0.4
VERSIONS_KEPT: Final = 20
# A lesson that had no new case for this long is no longer offered to a digest.
UNCONFIRMED_DAYS: Final = 90
MAX_CONFIDENCE: Final = 0.99
# An edit or a discard reason with at least this many meaningful words identifies a topic without the customer's request.
MIN_TELLING_WORDS: Final = 5
_SENTENCE_END: Final = re.compile(r"(?<=[.!?])\s+")


class LessonSource(StrEnum):
    """The kind of event from which a lesson was learned (R138, R151)."""

    EDITED_DRAFT = "edited_draft"
    DISCARDED_DRAFT = "discarded_draft"
    ANSWERED_ESCALATION = "answered_escalation"
    FAILED_TURN = "failed_turn"
    REJECTED_PROPOSAL = "rejected_proposal"
    REJECTED_VERSION = "rejected_version"
    REPORTED_REPLY = "reported_reply"


SOURCES: Final = (
    (LessonSource.EDITED_DRAFT.value, "A draft was sent in other words"),
    (LessonSource.DISCARDED_DRAFT.value, "A draft was discarded"),
    (LessonSource.ANSWERED_ESCALATION.value, "A question was answered"),
    (LessonSource.FAILED_TURN.value, "A turn gave no answer"),
    (LessonSource.REJECTED_PROPOSAL.value, "A proposal was rejected"),
    (LessonSource.REJECTED_VERSION.value, "A learning version was rejected or withdrawn"),
    (LessonSource.REPORTED_REPLY.value, "A reply was reported as wrong"),
)

# The confidence of one case. A person's explanation counts most, a person's action without one less, and a failure least.
FIRST_CONFIDENCE: Final = {
    LessonSource.ANSWERED_ESCALATION: 0.4,
    LessonSource.REJECTED_PROPOSAL: 0.4,
    LessonSource.REJECTED_VERSION: 0.4,
    LessonSource.REPORTED_REPLY: 0.4,
    LessonSource.EDITED_DRAFT: 0.3,
    LessonSource.DISCARDED_DRAFT: 0.2,
    LessonSource.FAILED_TURN: 0.1,
}


@dataclass(frozen=True, slots=True)
class LessonValue:
    """A situation, a problem and a correction, with the number of cases and the confidence (0 to 1)."""

    lesson_id: int
    situation: str
    problem: str
    correction: str
    support_count: int
    confidence: float
    last_seen_at: datetime
    is_digested: bool = False


@dataclass(frozen=True, slots=True)
class DraftCorrection:
    """A draft and the text that a person sent instead (R163)."""

    correction_id: int
    draft: str
    sent: str
    sent_at: datetime


def dedup_key(situation: str, problem: str, correction: str) -> str:
    """Return the same key for lessons with the same content. Word order, endings and common words do not count.

    Numbers and negations do count.
    """
    statements = [_statement_texts(text) for text in (situation, problem, correction)]
    return hashlib.sha256(json.dumps(statements, ensure_ascii=False).encode()).hexdigest()


def edit_dedup_key(situation: str, draft: str, sent: str) -> str:
    """Return the same key for edits with the same change. Sentences that both texts share do not count.

    The situation counts only if the removed and added words say too little by themselves, as in “Yes” instead of “No”.
    """
    before, after = _SENTENCE_END.split(draft), _SENTENCE_END.split(sent)
    went = " ".join(each for each in before if each not in after)
    came = " ".join(each for each in after if each not in before)
    says_enough = len(set(word_keys(f"{went} {came}"))) >= MIN_TELLING_WORDS
    return dedup_key("" if says_enough else situation, went, came)


def discard_dedup_key(situation: str, problem: str, correction: str) -> str:
    """Return the same key for drafts discarded with the same words, if the words say enough without the situation."""
    says_enough = len(set(word_keys(correction))) >= MIN_TELLING_WORDS
    return dedup_key("", "", correction) if says_enough else dedup_key(situation, problem, correction)


def _statement_texts(text: str) -> list[str]:
    found = sorted(_statement_text(each) for each in parse_statements(text))
    return found or [" ".join(text.casefold().split())]


def _statement_text(statement: Statement) -> str:
    amounts = sorted(f"{each.dimension} {each.low:g} {each.high:g}" for each in statement.amounts)
    words = (statement.subject, statement.condition, statement.exception, amounts)
    return json.dumps([str(statement.force), *(sorted(each) for each in words)], ensure_ascii=False)


def add_case(lesson: LessonValue, source: LessonSource, now: datetime) -> LessonValue:
    """Add a case to a known lesson: raise its count and confidence (R151), and offer a digested lesson to a digest again."""
    confidence = 1 - (1 - lesson.confidence) * (1 - FIRST_CONFIDENCE[source])
    return replace(
        lesson,
        support_count=lesson.support_count + 1,
        confidence=min(confidence, MAX_CONFIDENCE),
        last_seen_at=max(lesson.last_seen_at, now),
        is_digested=False,
    )


def is_promotable(lesson: LessonValue) -> bool:
    """Return whether the lesson has two cases, or was certain enough after the first one (R155)."""
    return lesson.support_count >= PROMOTABLE_SUPPORT or lesson.confidence >= PROMOTABLE_CONFIDENCE


def is_faded(lesson: LessonValue, now: datetime) -> bool:
    """Return whether a lesson below the threshold has gone too long without a second case."""
    return not is_promotable(lesson) and now - lesson.last_seen_at > timedelta(days=UNCONFIRMED_DAYS)


def lessons_to_digest(
    lessons: Iterable[LessonValue], now: datetime, limit: int = LESSONS_PER_DIGEST
) -> tuple[LessonValue, ...]:
    """Return the undigested lessons above the threshold, best supported first, then oldest first (R154).

    Support comes first so that many lessons with one case cannot crowd out a lesson that several people confirmed.
    """
    waiting = (each for each in lessons if not each.is_digested and is_promotable(each) and not is_faded(each, now))
    ranked = sorted(
        waiting, key=lambda each: (-each.support_count, -each.confidence, each.last_seen_at, each.lesson_id)
    )
    return tuple(ranked[:limit])


def corrections_to_digest(
    corrections: Iterable[DraftCorrection], limit: int = CORRECTIONS_PER_DIGEST
) -> tuple[DraftCorrection, ...]:
    """Return the latest corrections in the order they were sent (R154), so that they show what people want now."""
    latest = sorted(corrections, key=lambda each: (each.sent_at, each.correction_id))[-limit:] if limit > 0 else []
    return tuple(latest)


class ApplyMode(StrEnum):
    """How a version is applied after it has passed the digest's checks (R149, Z-7)."""

    AUTO = "auto"
    APPROVAL = "approval"


@dataclass(frozen=True, slots=True)
class PrunableVersion:
    """The facts about a learning version that pruning needs."""

    version_id: int
    number: int
    is_active: bool = False
    is_pending: bool = False


def versions_to_prune(
    versions: Sequence[PrunableVersion], pinned_ids: Collection[int], keep: int = VERSIONS_KEPT
) -> tuple[int, ...]:
    """Return the ids of the oldest versions beyond the limit (R148), except active, pending and pinned versions.

    More than `keep` versions remain only if these exceptions require it.
    """
    excess = len(versions) - keep
    free = [
        each
        for each in sorted(versions, key=lambda each: (each.number, each.version_id))
        if not (each.is_active or each.is_pending or each.version_id in pinned_ids)
    ]
    return tuple(each.version_id for each in free[: max(excess, 0)])


def parse_bullets(body: str) -> tuple[str, ...]:
    """Return the bullets of a version's body without list markers and duplicates."""
    lines = (line.strip().lstrip("-*•").strip() for line in body.splitlines())
    return tuple(dict.fromkeys(line for line in lines if line))


def render_summary(body: str) -> str:
    """Return the summary shown in the user turn: the first ten bullets, each truncated to one line (R145)."""
    shown = parse_bullets(body)[:LEARNING_BULLETS]
    return "\n".join(f"- {bullet[:LEARNING_BULLET_CHARACTERS].rstrip()}" for bullet in shown)
