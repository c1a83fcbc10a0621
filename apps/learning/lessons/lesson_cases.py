"""The lesson of one settled case: the situation, the problem, and a person's correction; pure."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeAlias

SITUATION_CHARACTERS: Final = 500
LESSON_TEXT_CHARACTERS: Final = 1_500
# Error codes of turns that failed because of the agent. Other turns failed because of the model, its account or a worker.
AGENT_FAILURE_CODES: Final = frozenset({"refusal", "steps_spent", "turn_budget_spent", "calls_repeated", "empty_reply"})


@dataclass(frozen=True, slots=True)
class LessonText:
    """The three parts of a lesson, each on one line."""

    situation: str
    problem: str
    correction: str = ""


@dataclass(frozen=True, slots=True)
class NoLesson:
    """A case with nothing to learn; such cases are counted too."""

    because: str


Case: TypeAlias = LessonText | NoLesson


def lesson_from_edited_draft(asked: str, draft: str, sent: str) -> Case:
    """Return the lesson of a draft that a person edited before sending it."""
    if _normalize(draft) == _normalize(sent):
        return NoLesson("The words are the same but for spaces and capitals.")
    return LessonText(asked, draft, sent)


def lesson_from_discarded_draft(asked: str, draft: str, what_is_wrong: str, why: str) -> Case:
    """Return the lesson of a discarded draft; the reason given for discarding it is the correction."""
    return LessonText(asked, f"{what_is_wrong}: {draft}", why)


def lesson_from_escalation(asked: str, question: str, answer: str) -> Case:
    """Return the lesson of a question that the agent could not answer and a person did."""
    return LessonText(asked, f"The agent could not settle this by itself: {question}", answer)


def lesson_from_failed_turn(asked: str, code: str, failure: str) -> Case:
    """Return the lesson of a turn in which the agent failed to answer; it has no correction."""
    if code not in AGENT_FAILURE_CODES:
        return NoLesson("The model, its account or a worker failed, and not the agent.")
    return LessonText(asked, f"The agent gave no answer. {failure}")


def lesson_from_reported_reply(asked: str, reply: str, what_is_wrong: str, why: str, correction: str) -> Case:
    """Return the lesson of a sent reply that a person reported as wrong. A reason code alone is no correction."""
    why, correction = why.strip(), correction.strip()
    if not (why or correction):
        return NoLesson("Nobody explained what was wrong with it.")
    wrong = f"{what_is_wrong}. {why} The reply was: {reply}" if why and correction else f"{what_is_wrong}: {reply}"
    return LessonText(asked, wrong, correction or why)


def lesson_from_rejection(proposed: str, rationale: str, what_is_wrong: str, why: str) -> Case:
    """Return the lesson of an agent's proposal that a person rejected. A reason code alone teaches nothing."""
    if not why.strip():
        return NoLesson("Nobody explained why it was rejected.")
    return LessonText(f"The agent proposed: {proposed}. {rationale}", f"{what_is_wrong or 'Rejected'}.", why)


def lesson_from_rejected_version(change_summary: str, why: str) -> Case:
    """Return the lesson of a rejected learning version; the summary of a withdrawn version is not repeated."""
    if not why.strip():
        return NoLesson("Nobody explained what was wrong with it.")
    wrong = (
        f"It would learn: {change_summary}" if change_summary else "Something it had learned was taken out for good."
    )
    return LessonText("What the agent learns from corrections.", wrong, why)


def mask_case(case: Case, mask: Callable[[str], str]) -> Case:
    """Mask the texts of a case, then truncate each to one short line; truncating first could hide a value from the mask."""
    if isinstance(case, NoLesson):
        return case
    situation, wrong, correction = (_one_line(mask(text)) for text in (case.situation, case.problem, case.correction))
    if not situation:
        return NoLesson("Nobody asked anything before it.")
    return LessonText(
        situation[:SITUATION_CHARACTERS], wrong[:LESSON_TEXT_CHARACTERS], correction[:LESSON_TEXT_CHARACTERS]
    )


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _normalize(text: str) -> str:
    return _one_line(text).casefold()
