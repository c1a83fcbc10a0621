"""What a note may be, whose it is, how many there may be, and when a reminder is due."""

from datetime import UTC, datetime, timedelta

import pytest

from apps.notebook.rules import (
    CUSTOMER_UNPROVEN,
    NO_CUSTOMER,
    OPEN_PER_AGENT,
    OPEN_PER_CUSTOMER,
    REMINDER,
    SCRATCH,
    TASK,
    TEXT_LINES,
    NoteRefusal,
    customer_key_for_note,
    is_due,
    limit_refusal,
    note_flaws,
)

pytestmark = [pytest.mark.pure, pytest.mark.kernel]

NOON = datetime(2026, 5, 9, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("kind", "text", "due_at", "flawed"),
    [
        (TASK, "Write the guide.", None, []),
        (TASK, "Write the guide.", NOON, []),
        (REMINDER, "Call back.", NOON, []),
        (SCRATCH, "42", None, []),
        (TASK, "\n".join("x" * TEXT_LINES), None, []),
        (REMINDER, "Call back.", None, ["due_at"]),
        (SCRATCH, "42", NOON, ["due_at"]),
        (TASK, " \n", None, ["text"]),
        (TASK, "\n".join("x" * (TEXT_LINES + 1)), None, ["text"]),
        (REMINDER, "", None, ["text", "due_at"]),
    ],
)
def test_a_note_says_something_in_a_few_lines_and_a_reminder_says_when(
    kind: str, text: str, due_at: datetime | None, flawed: list[str]
) -> None:  # R177
    assert list(note_flaws(kind, text, due_at)) == flawed


def test_in_a_turn_a_note_is_the_customers_whatever_the_agent_asks_for() -> None:  # R007
    assert customer_key_for_note("http:other", "http:ann", is_proven=True) == "http:ann"
    assert customer_key_for_note("", "http:ann", is_proven=True) == "http:ann"


def test_nobody_unproven_and_nobody_unnamed_leaves_a_note() -> None:  # R007
    assert customer_key_for_note("", "http:ann", is_proven=False) == NoteRefusal(CUSTOMER_UNPROVEN)
    assert customer_key_for_note("", "", is_proven=False) == NoteRefusal(NO_CUSTOMER)


def test_a_run_of_a_schedule_notes_for_all_and_a_program_for_whom_it_says() -> None:
    assert customer_key_for_note("http:other", "", is_proven=True) == ""
    assert customer_key_for_note("http:other", None, is_proven=True) == "http:other"
    assert customer_key_for_note("", None, is_proven=True) == ""


def test_one_note_too_many_names_the_oldest_and_what_to_do() -> None:
    refusal = limit_refusal(range(7, 7 + OPEN_PER_AGENT), "")
    assert "7, 8, 9: finish what is done, drop what no longer matters" in refusal
    assert f"{OPEN_PER_CUSTOMER} open notes about this customer" in limit_refusal(range(OPEN_PER_CUSTOMER), "http:ann")


def test_there_is_room_up_to_the_limit() -> None:
    assert limit_refusal(range(OPEN_PER_AGENT - 1), "") == ""
    assert limit_refusal(range(OPEN_PER_CUSTOMER - 1), "http:ann") == ""


def test_a_reminder_is_due_from_its_moment_on() -> None:
    assert is_due(NOON, NOON)
    assert not is_due(NOON, NOON - timedelta(microseconds=1))
    assert not is_due(None, NOON)
