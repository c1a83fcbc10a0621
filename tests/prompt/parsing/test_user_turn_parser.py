"""The reader of user turns takes what the renderer writes and refuses everything else."""

from dataclasses import replace

import pytest

from apps.prompt.instruction_texts import UNAPPROVED_LEARNING_LEAD
from apps.prompt.parsing.cursor import Unreadable
from apps.prompt.parsing.user_turn import ReadEvent, ReadTurn, read_turn
from apps.prompt.prompt_input import Event, EventKind, SendMode, TurnInput
from apps.prompt.rendering.data_fences import fence, fence_lines, header
from apps.prompt.rendering.user_turn import user_turn
from tests.prompt.input_factories import NOON, TURN, event

pytestmark = [pytest.mark.pure, pytest.mark.kernel]


def test_a_turn_is_read_part_by_part() -> None:  # R139, R140
    assert read_turn(user_turn(TURN).text) == ReadTurn(
        now_line="Current date and time: Saturday, 2026-05-09 at 12:00 PM UTC",
        off_the_record=True,
        line_cards=("Sales the contact person is Kim Weber, Head of sales",),
        delegated_by="Front desk",
        send_mode=SendMode.SUGGEST,
        open_escalations=2,
        learning=("Name the next step.", "Say the price first."),
        unapproved_learning=("Use fewer words.",),
        examples=(
            {
                "correction": "I am afraid not, but here is what I can do.",
                "draft": "No.",
                "situation": "A late return",
            },
        ),
        events=(
            ReadEvent(EventKind.OPERATOR, "Offer an exchange first."),
            ReadEvent(
                EventKind.MESSAGE,
                'It is "too small".\n[redacted] refund me\n[redacted]',
                "Ann VIP",
                "ann@example.test",
            ),
        ),
        save_with="draft_skill",
    )


def turned(**given: object) -> ReadTurn:
    return read_turn(user_turn(replace(TurnInput(events=(), now_line=None), **given)).text)  # type: ignore[arg-type]


def test_parts_of_a_turn_may_be_missing() -> None:
    nothing = ReadTurn("", False, (), "", None, 0, (), (), (), ())
    assert turned() == nothing
    assert turned(off_the_record=True) == replace(nothing, off_the_record=True)
    assert turned(open_escalations=1) == replace(nothing, open_escalations=1)
    assert turned(open_escalations=12, off_the_record=True) == replace(
        nothing, open_escalations=12, off_the_record=True
    )
    assert turned(save_with="skill_save") == replace(nothing, save_with="skill_save")
    empty = (event(EventKind.OPERATOR, " "), event(EventKind.SCHEDULE, "Go."))
    assert [(told.kind, told.text) for told in turned(events=empty).events] == [
        (EventKind.OPERATOR, ""),
        (EventKind.SCHEDULE, "Go."),
    ]


def test_an_event_tells_its_line_and_whether_it_was_cut() -> None:  # R133
    sms = Event(EventKind.SMS, "x" * 30_000, NOON, "Ann", "+1", "Sales")
    [told] = turned(events=(sms,)).events
    assert told == ReadEvent(EventKind.SMS, "x" * 20_000, "Ann", "+1", "Sales", is_cut=True)
    [told] = turned(events=(event(EventKind.OPERATOR, "x" * 30_000),)).events
    assert told == ReadEvent(EventKind.OPERATOR, "x" * 20_000, is_cut=True)


MESSAGE = f"{header(event(EventKind.MESSAGE, ''))}\n{fence('Hi')}"
ORDER = header(event(EventKind.OPERATOR, ""))


@pytest.mark.parametrize(
    "turn",
    [
        "Hello",
        "--- System ---",
        "--- System ---\nIt is noon.",
        "--- System ---\nCurrent date and time: Saturday, 2026-05-09 at 12:00 PM UTC and more",
        "On line Sales Kim Weber is in charge.",
        "On line Sales the contact person is Kim Weber",
        "Another agent of your organisation asked you to work on this: Front desk",
        f"{UNAPPROVED_LEARNING_LEAD}\n{fence({'x': 1})}",
        f"{UNAPPROVED_LEARNING_LEAD}\n- x",
        f"Drafts of yours that an operator corrected\n{fence({'correction': 'x'})}",
        f"{MESSAGE}\n{MESSAGE}",
        f"{MESSAGE}\n\n{MESSAGE}\n\n",
        f"{MESSAGE}\n\nBe kind.",
        header(event(EventKind.MESSAGE, "")),
        f"{header(event(EventKind.MESSAGE, ''))}\nHi",
        f"{header(event(EventKind.MESSAGE, ''))}\n{fence({'text': 'Hi'})}",
        f"{header(event(EventKind.MESSAGE, ''))}\n{fence_lines(['Hi', 'there'])}",
        f"[New message · Ann <a<b>]\n{fence('Hi')}",
        f"[New letter · Ann <ann>]\n{fence('Hi')}",
        f"{ORDER} Be kind.",
        f"{ORDER}\n Be kind.",
        f"{ORDER}\nBe kind.\n---\nx",
        f"{ORDER}\nBe kind.\n{ORDER}",
    ],
)
def test_what_only_looks_like_a_turn_is_refused(turn: str) -> None:
    with pytest.raises(Unreadable):
        read_turn(turn)


@pytest.mark.parametrize("example", ["x", {"draft": "x"}, {"correction": "x", "role": "system"}])
def test_an_example_without_a_correction_is_refused(example: str | dict[str, str]) -> None:
    honest = user_turn(TurnInput(events=(), now_line=None, examples=TURN.examples)).text
    lead = honest.partition("\n")[0]
    with pytest.raises(Unreadable, match="object with a correction"):
        read_turn(f"{lead}\n{fence(example)}")
