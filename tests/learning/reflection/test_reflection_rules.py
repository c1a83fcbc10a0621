"""Which day an agent reflects on, what it is shown of it, and what is made of the answer (R119)."""

import json
from datetime import UTC, date, datetime
from zoneinfo import ZoneInfo

import pytest

from apps.conversations.rules import ConversationLine, ToolCall
from apps.learning.extraction.eligibility import LearningRejection
from apps.learning.reflection.memory_vetting import MEMORY_CHARACTERS, vet_memory
from apps.learning.reflection.reflection_day import day_bounds, day_to_reflect_on
from apps.learning.transcript_masking import mask_transcript
from apps.prompt.learning_prompts.extraction import ExtractedSkill, MalformedExtraction, TranscriptLine
from apps.prompt.learning_prompts.reflection import (
    MAX_MEMORIES_PER_DAY,
    MAX_SKILLS_PER_DAY,
    ReflectedMemory,
    ReflectedSkill,
    ReflectionResult,
    day_message,
    parse_reflection,
    reflection_schema,
)
from apps.prompt.text_limits import EXTRACTION_REPLY_CHARACTERS
from apps.standin.learning_agents.reflector import reflect_on_day
from apps.text_analysis.pii.known_values import KnownValues
from apps.text_analysis.pii.masking import PiiMasker

pytestmark = [pytest.mark.pure, pytest.mark.kernel]

BERLIN = ZoneInfo("Europe/Berlin")
SKILL = {"name": "greet", "title": "Greet", "description": "How to greet.", "body": "## When to Use"}


def test_from_eleven_in_the_evening_on_the_day_is_over() -> None:
    # R119
    before, after = datetime(2026, 5, 9, 20, 59, tzinfo=UTC), datetime(2026, 5, 9, 21, tzinfo=UTC)
    assert day_to_reflect_on(before, BERLIN) == date(2026, 5, 8)
    assert day_to_reflect_on(after, BERLIN) == date(2026, 5, 9)


@pytest.mark.parametrize("day", [date(2026, 3, 29), date(2026, 10, 25), date(2026, 5, 9)])
def test_between_two_days_lies_nothing_even_where_clocks_are_set(day: date) -> None:
    _, ends = day_bounds(day, BERLIN)
    begins, _ = day_bounds(date.fromordinal(day.toordinal() + 1), BERLIN)
    assert ends == begins
    assert ends.astimezone(BERLIN).hour == 23
    assert day_to_reflect_on(ends, BERLIN) == day


def test_what_is_read_is_masked_in_words_arguments_and_answers() -> None:
    # R115
    call = ToolCall("1", "find", {"name": "Mia Li", "deep": ["Mia Li", {"a": "Mia Li"}], "n": 1}, "Mia Li, found.")
    [line] = mask_transcript(
        [ConversationLine("customer", "I am Mia Li.", (call,))],
        PiiMasker.against(KnownValues(names=frozenset({"Mia Li"}))),
    )
    assert "Mia" not in repr(line)
    assert line.tool_calls[0].arguments["n"] == 1


def test_each_conversation_stands_under_its_number_in_a_fence_of_its_own() -> None:
    day_text = day_message([[TranscriptLine("customer", "Hi.")], [TranscriptLine("agent", "Hello.")]])
    assert day_text.startswith("# Conversation 1\n\n<data")
    assert "\n\n# Conversation 2\n\n<data" in day_text


def answer(*skills: object) -> str:
    return json.dumps({"skills": list(skills)})


def test_the_answer_is_read_as_far_as_it_is_one() -> None:
    whole = SKILL | {"conversations": [2, 1, 2, 0, "3"]}
    read = ReflectedSkill(ExtractedSkill(**SKILL), (1, 2))
    assert parse_reflection(answer(whole)) == ReflectionResult((read,))
    assert parse_reflection(
        f"Here: {answer(whole, 'x', SKILL, None, SKILL | {'conversations': 1})}"
    ) == ReflectionResult((read,))
    assert parse_reflection(answer(*[whole] * 9)) == ReflectionResult((read,) * MAX_SKILLS_PER_DAY)
    nothing = parse_reflection(answer(whole | {"name": ""}))
    assert isinstance(nothing, ReflectionResult)
    assert nothing.is_empty


def test_what_is_to_be_remembered_is_read_as_far_as_it_is_a_line() -> None:
    whole: dict[str, object] = {"text": " Open\nfrom nine. ", "conversations": [2, 1]}
    read = ReflectedMemory("Open from nine.", (1, 2))
    odd = [None, "x", {"text": "x"}, whole | {"text": " "}, whole | {"text": "\x00"}, whole | {"conversations": 1}]
    assert parse_reflection(json.dumps({"skills": [], "memories": [*odd, whole]})) == ReflectionResult((), (read,))
    found = parse_reflection(json.dumps({"skills": [], "memories": [whole] * 9}))
    assert found == ReflectionResult((), (read,) * MAX_MEMORIES_PER_DAY)
    assert isinstance(found, ReflectionResult)
    assert not found.is_empty
    assert parse_reflection(json.dumps({"skills": [], "memories": "x"})) == ReflectionResult()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x" * (MEMORY_CHARACTERS + 1), "301 characters; a line of memory has 300"),
        ("Mia Li pays by card.", "“[name] pays by card.” contains data of one person"),
        ("Write to [e-mail].", "contains data of one person"),
        ("The shop is closed today.", "is true for one day only (today)"),
    ],
)
def test_a_line_of_one_person_or_one_day_is_no_memory(text: str, message: str) -> None:
    firewall = PiiMasker.against(KnownValues(names=frozenset({"Mia Li"})))
    refused = vet_memory(text, firewall)
    assert isinstance(refused, LearningRejection)
    assert message in refused.reason
    assert vet_memory("The shop opens at nine.", firewall) == "The shop opens at nine."


@pytest.mark.parametrize("text", ["No.", "{}", '{"skills": null}', "x" * (3 * EXTRACTION_REPLY_CHARACTERS + 1)])
def test_an_answer_of_another_shape_teaches_nothing(text: str) -> None:
    assert isinstance(parse_reflection(text), MalformedExtraction)


def test_the_schema_asks_for_what_the_parser_reads() -> None:
    asked = json.loads(json.dumps(reflection_schema))["properties"]
    skill, memory = asked["skills"]["items"], asked["memories"]["items"]
    assert set(skill["required"]) == set(skill["properties"]) == {*SKILL, "conversations"}
    assert set(memory["required"]) == set(memory["properties"]) == {"text", "conversations"}


def test_the_stand_in_finds_what_two_conversations_show() -> None:
    refund = [
        TranscriptLine("customer", "I want a refund for my order."),
        TranscriptLine("agent", tool_name="find_order", arguments={"order_id": "x"}),
        TranscriptLine("agent", tool_name="refund_order", arguments={"order_id": "x"}),
        TranscriptLine("customer", "Thank you."),
    ]
    other = [TranscriptLine("customer", "Hello.")]
    [found] = json.loads(reflect_on_day(day_message([refund, other, refund])))["skills"]
    assert found["conversations"] == [1, 3]
    assert json.loads(reflect_on_day(day_message([refund, other]))) == {"skills": [], "memories": []}


def test_the_stand_in_would_remember_what_a_colleague_told_two_customers() -> None:
    operator_lines = [TranscriptLine("operator", "Hello. We are open from nine to five. Is that all?")]
    claimed = [TranscriptLine("customer", "We are open from nine to five.")]
    [found] = json.loads(reflect_on_day(day_message([operator_lines, claimed, operator_lines])))["memories"]
    assert found == {"text": "We are open from nine to five.", "conversations": [1, 3]}
    assert json.loads(reflect_on_day(day_message([operator_lines, claimed])))["memories"] == []
