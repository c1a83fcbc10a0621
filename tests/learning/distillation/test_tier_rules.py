"""One line for each conversation that ended, and tiers as people write them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.learning.distillation.rewrite_vetting import FACT_CHARACTERS, MAX_FACTS, SourceLine, TierFact, fact_id
from apps.learning.distillation.tier_text import (
    NAMES_SHOWN,
    EndedConversation,
    UnreadableTier,
    parse_edited_facts,
    render_editable_facts,
    session_log_line,
    source_lines_of,
)

pytestmark = [pytest.mark.pure, pytest.mark.kernel]

LATE_FACT = TierFact(fact_id("Parcels are late."), "Parcels are late.", ("l1", "l2"))
NAMES = st.lists(st.text(max_size=80), max_size=12).map(tuple)


def test_a_line_says_what_became_of_a_conversation() -> None:  # R169
    ended = EndedConversation(
        "http", "resolved", "solved", False, 1, ("get_order",), ("late-parcel",), ("policy",), 1, 2
    )
    assert session_log_line(ended) == (
        "http: solved; 1 message; skills late-parcel; tools get_order; handed over policy; 1 draft edited; 2 drafts discarded"
    )
    assert (
        session_log_line(EndedConversation("slack", "abandoned", "unknown", True, 3))
        == "slack: abandoned; 3 messages; came back"
    )
    assert session_log_line(EndedConversation("slack", "resolved", "unknown", False, 0)) == "slack: resolved; "


@given(st.text(max_size=60), NAMES, NAMES, NAMES)
def test_no_sentence_gets_into_a_line(
    channel: str, tools: tuple[str, ...], skills: tuple[str, ...], escalations: tuple[str, ...]
) -> None:
    """What is no name is left out, so a name that somebody made up carries neither words nor lines."""
    log_line = session_log_line(EndedConversation(channel, "resolved", "solved", False, 2, tools, skills, escalations))
    for name in (channel, *tools, *skills, *escalations):
        if any(not (char.isascii() and (char.isalnum() or char in "_.-")) for char in name) and len(name) > 8:
            assert name not in log_line
    assert "\n" not in log_line


def test_names_are_bounded() -> None:
    log_line = session_log_line(
        EndedConversation("http", "resolved", "solved", False, 1, tuple(f"tool_{number}" for number in range(50)))
    )
    assert log_line.count("tool_") == NAMES_SHOWN


def test_lines_of_a_tier_carry_the_day_they_stand_under() -> None:
    body = "- before\n## 2026-11-21\n- http: solved; 1 message\n\n## 2026-11-22\n- slack: abandoned\nno line"
    assert source_lines_of(body) == (
        SourceLine("l1", "before"),
        SourceLine("l2", "2026-11-21: http: solved; 1 message"),
        SourceLine("l3", "2026-11-22: slack: abandoned"),
    )


def test_what_people_write_keeps_what_it_rests_on_and_what_is_permanent() -> None:
    read = parse_edited_facts("- Parcels are late.\n\n-  ! We close at 6.", (LATE_FACT,))
    assert read == (LATE_FACT, TierFact(fact_id("We close at 6."), "We close at 6.", (), True))
    assert render_editable_facts(read) == "- Parcels are late.\n- ! We close at 6."
    assert parse_edited_facts(render_editable_facts(read), read) == read
    assert parse_edited_facts("Parcels are late.\n! We close at 6.", (LATE_FACT,)) == read


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("- fine\n- " + "x" * (FACT_CHARACTERS + 1), f"Line 2 has {FACT_CHARACTERS + 1} characters"),
        ("- !", "Line 1 has 0 characters"),
        ("\n".join(f"- fact {number}" for number in range(MAX_FACTS + 1)), f"{MAX_FACTS} are allowed"),
    ],
)
def test_what_is_no_list_of_facts_is_refused_in_words(text: str, message: str) -> None:
    read = parse_edited_facts(text)
    assert isinstance(read, UnreadableTier)
    assert message in read.reason
