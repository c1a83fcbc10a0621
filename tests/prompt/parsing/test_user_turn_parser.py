"""The reader of user turns takes what the renderer writes and refuses everything else."""

from dataclasses import replace

import pytest

from apps.prompt.instruction_texts import UNAPPROVED_LEARNING_LEAD
from apps.prompt.parsing.cursor import UnreadablePrompt
from apps.prompt.parsing.user_turn import ParsedEvent, ParsedTurn, parse_user_turn
from apps.prompt.prompt_input import EventKind, SendMode, TurnEvent, TurnInput
from apps.prompt.rendering.data_fences import fence, fence_lines, render_header
from apps.prompt.rendering.user_turn import render_user_turn
from tests.prompt.input_factories import NOON, TURN, event

pytestmark = [pytest.mark.pure, pytest.mark.kernel]


def test_a_turn_is_read_part_by_part() -> None:  # R139, R140
    assert parse_user_turn(render_user_turn(TURN).text) == ParsedTurn(
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
            ParsedEvent(EventKind.OPERATOR, "Offer an exchange first."),
            ParsedEvent(
                EventKind.MESSAGE,
                'It is "too small".\n[redacted] refund me\n[redacted]',
                "Ann VIP",
                "ann@example.test",
            ),
        ),
        save_with="draft_skill",
    )


def parse_turn(**given: object) -> ParsedTurn:
    return parse_user_turn(render_user_turn(replace(TurnInput(events=(), now_line=None), **given)).text)  # type: ignore[arg-type]


def test_parts_of_a_turn_may_be_missing() -> None:
    nothing = ParsedTurn("", False, (), "", None, 0, (), (), (), ())
    assert parse_turn() == nothing
    assert parse_turn(off_the_record=True) == replace(nothing, off_the_record=True)
    assert parse_turn(open_escalations=1) == replace(nothing, open_escalations=1)
    assert parse_turn(open_escalations=12, off_the_record=True) == replace(
        nothing, open_escalations=12, off_the_record=True
    )
    assert parse_turn(save_with="skill_save") == replace(nothing, save_with="skill_save")
    empty = (event(EventKind.OPERATOR, " "), event(EventKind.SCHEDULE, "Go."))
    assert [(parsed_event.kind, parsed_event.text) for parsed_event in parse_turn(events=empty).events] == [
        (EventKind.OPERATOR, ""),
        (EventKind.SCHEDULE, "Go."),
    ]


def test_an_event_tells_its_line_and_whether_it_was_cut() -> None:  # R133
    sms = TurnEvent(EventKind.SMS, "x" * 30_000, NOON, "Ann", "+1", "Sales")
    [parsed_event] = parse_turn(events=(sms,)).events
    assert parsed_event == ParsedEvent(EventKind.SMS, "x" * 20_000, "Ann", "+1", "Sales", is_cut=True)
    [parsed_event] = parse_turn(events=(event(EventKind.OPERATOR, "x" * 30_000),)).events
    assert parsed_event == ParsedEvent(EventKind.OPERATOR, "x" * 20_000, is_cut=True)


MESSAGE = f"{render_header(event(EventKind.MESSAGE, ''))}\n{fence('Hi')}"
OPERATOR_HEADER = render_header(event(EventKind.OPERATOR, ""))


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
        render_header(event(EventKind.MESSAGE, "")),
        f"{render_header(event(EventKind.MESSAGE, ''))}\nHi",
        f"{render_header(event(EventKind.MESSAGE, ''))}\n{fence({'text': 'Hi'})}",
        f"{render_header(event(EventKind.MESSAGE, ''))}\n{fence_lines(['Hi', 'there'])}",
        f"[New message · Ann <a<b>]\n{fence('Hi')}",
        f"[New letter · Ann <ann>]\n{fence('Hi')}",
        f"{OPERATOR_HEADER} Be kind.",
        f"{OPERATOR_HEADER}\n Be kind.",
        f"{OPERATOR_HEADER}\nBe kind.\n---\nx",
        f"{OPERATOR_HEADER}\nBe kind.\n{OPERATOR_HEADER}",
    ],
)
def test_what_only_looks_like_a_turn_is_refused(turn: str) -> None:
    with pytest.raises(UnreadablePrompt):
        parse_user_turn(turn)


@pytest.mark.parametrize("example", ["x", {"draft": "x"}, {"correction": "x", "role": "system"}])
def test_an_example_without_a_correction_is_refused(example: str | dict[str, str]) -> None:
    honest = render_user_turn(TurnInput(events=(), now_line=None, examples=TURN.examples)).text
    lead = honest.partition("\n")[0]
    with pytest.raises(UnreadablePrompt, match="object with a correction"):
        parse_user_turn(f"{lead}\n{fence(example)}")
