"""What one settled case tells: where it was, what went wrong, and what a person did in its place; pure."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeAlias

SITUATION_CHARACTERS: Final = 500
LESSON_TEXT_CHARACTERS: Final = 1_500
# A turn that ended so failed by what the agent did; of the others the model, its account or a worker was the cause.
AGENT_FAILURE_CODES: Final = frozenset({"refusal", "steps_spent", "turn_budget_spent", "calls_repeated", "empty_reply"})


@dataclass(frozen=True, slots=True)
class LessonText:
    """The three parts of a lesson, each on one line."""

    situation: str
    problem: str
    correction: str = ""


@dataclass(frozen=True, slots=True)
class NoLesson:
    """Nothing to learn, which is counted too."""

    because: str


Case: TypeAlias = LessonText | NoLesson


def lesson_from_edited_draft(asked: str, draft: str, sent: str) -> Case:
    """A person sent other words than the agent wrote."""
    if _normalize(draft) == _normalize(sent):
        return NoLesson("The words are the same but for spaces and capitals.")
    return LessonText(asked, draft, sent)


def lesson_from_discarded_draft(asked: str, draft: str, what_is_wrong: str, why: str) -> Case:
    """Nothing was sent; the words of the person who said why are what to do instead."""
    return LessonText(asked, f"{what_is_wrong}: {draft}", why)


def lesson_from_escalation(asked: str, question: str, answer: str) -> Case:
    """The agent did not know, and a person did."""
    return LessonText(asked, f"The agent could not settle this by itself: {question}", answer)


def lesson_from_failed_turn(asked: str, code: str, failure: str) -> Case:
    """The agent gave no answer; nobody said what would have been one."""
    if code not in AGENT_FAILURE_CODES:
        return NoLesson("What failed was the model, its account or a worker, and not the agent.")
    return LessonText(asked, f"The agent gave no answer. {failure}")


def lesson_from_reported_reply(asked: str, reply: str, what_is_wrong: str, why: str, correction: str) -> Case:
    """A customer had read it before a person said that it is wrong. A word that can be counted tells nobody what to do."""
    why, correction = why.strip(), correction.strip()
    if not (why or correction):
        return NoLesson("Nobody said in words what was wrong with it.")
    wrong = f"{what_is_wrong}. {why} The reply was: {reply}" if why and correction else f"{what_is_wrong}: {reply}"
    return LessonText(asked, wrong, correction or why)


def lesson_from_rejection(proposed: str, rationale: str, what_is_wrong: str, why: str) -> Case:
    """A person said no to what the agent brought. A word that can be counted tells no other agent what to do."""
    if not why.strip():
        return NoLesson("Nobody said in words why it was rejected.")
    return LessonText(f"The agent proposed: {proposed}. {rationale}", f"{what_is_wrong or 'Rejected'}.", why)


def lesson_from_rejected_version(change_summary: str, why: str) -> Case:
    """A person said no to what the agent would have learned. What was taken out for good is not told again: no summary."""
    if not why.strip():
        return NoLesson("Nobody said in words what was wrong with it.")
    wrong = (
        f"It would learn: {change_summary}" if change_summary else "Something it had learned was taken out for good."
    )
    return LessonText("What the agent learns from corrections.", wrong, why)


def mask_case(case: Case, mask: Callable[[str], str]) -> Case:
    """What may be kept: masked while it is whole, so that no cut hides what it begins, and then on one short line."""
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
