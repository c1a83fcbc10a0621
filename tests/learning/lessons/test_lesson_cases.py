"""What one settled case tells."""

import pytest

from apps.learning.lessons.lesson_cases import (
    AGENTS_OWN,
    SAID_CHARACTERS,
    SITUATION_CHARACTERS,
    Told,
    Untaught,
    masked,
    of_discarded_draft,
    of_edited_draft,
    of_escalation,
    of_failed_turn,
    of_rejected_version,
    of_rejection,
)

pytestmark = [pytest.mark.pure, pytest.mark.kernel]


def test_an_edited_draft_keeps_both_words() -> None:
    # R163
    assert of_edited_draft("Where?", "Soon.", "Tomorrow.") == Told("Where?", "Soon.", "Tomorrow.")
    assert isinstance(of_edited_draft("Where?", "Soon.", " soon. "), Untaught)


def test_a_discarded_draft_and_an_answer_keep_a_persons_words() -> None:
    assert of_discarded_draft("Where?", "Soon.", "Wrong", "Look it up.") == Told(
        "Where?", "Wrong: Soon.", "Look it up."
    )
    told = of_escalation("May I?", "May they?", "Yes.")
    assert told == Told("May I?", "The agent could not settle this by itself: May they?", "Yes.")


@pytest.mark.parametrize("code", sorted(AGENTS_OWN))
def test_a_turn_teaches_only_what_the_agent_failed_at(code: str) -> None:
    # R138
    assert of_failed_turn("May I?", code, "It stopped.") == Told("May I?", "The agent gave no answer. It stopped.")
    assert isinstance(of_failed_turn("May I?", "bad_request", "It stopped."), Untaught)


def test_a_rejection_teaches_by_the_words_of_the_reason() -> None:
    told = of_rejection("New skill", "For refunds", "", "There is one.")
    assert told == Told("The agent proposed: New skill. For refunds", "Rejected.", "There is one.")
    assert isinstance(of_rejection("New skill", "For refunds", "Wrong", " "), Untaught)


def test_a_version_that_was_turned_down_tells_why_if_somebody_said_it() -> None:
    told = of_rejected_version("Promises a date.", "Only finance knows the date.")
    assert told == Told(
        "What the agent learns from corrections.", "It would learn: Promises a date.", "Only finance knows the date."
    )
    assert isinstance(of_rejected_version("Promises a date.", " "), Untaught)


def test_what_is_kept_is_masked_while_it_is_whole() -> None:
    # R115
    long = "a " * SAID_CHARACTERS
    told = masked(Told(f"Mia\n asks {long}", long, "Mia"), lambda text: text.replace("Mia", "[name]"))
    assert isinstance(told, Told)
    assert told.situation.startswith("[name] asks a")
    assert (len(told.situation), len(told.problem), told.correction) == (
        SITUATION_CHARACTERS,
        SAID_CHARACTERS,
        "[name]",
    )
    untaught = Untaught("No.")
    assert masked(untaught, str.upper) is untaught
    assert isinstance(masked(Told(" ", "x"), str), Untaught)
