"""A new draft is told from the known ones, or found to be one of them."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations, product
from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.conversations.transcript_parsing import ImportedTranscript, parse_line
from apps.launcher.data_folders import PROJECT
from apps.learning.extraction.eligibility import EligibleConversation, check_eligibility
from apps.prompt.learning_prompts.extraction import TranscriptLine, transcript_message
from apps.standin.learning_agents.extractor import extract_skill
from apps.text_analysis.procedure_similarity import (
    MIN_PROCEDURES,
    ProcedureIndex,
    ProcedureLikeness,
    ProcedureText,
    group_procedures,
    tools_in,
)
from tests.text_analysis.procedure_drafts import ProcedureCouple, make_procedure
from tests.text_analysis.similar_procedures import TUNING_COUPLES
from tests.text_analysis.similar_procedures_holdout import HELD_OUT_COUPLES

pytestmark = [pytest.mark.pure, pytest.mark.kernel]

REAL = PROJECT.parent / "shared" / "data" / "tau_airline_transcripts.jsonl"
CHANGING_TOOLS = ("update_reservation_flights", "cancel_reservation", "book_reservation", "update_reservation_baggages")


def is_similar(known: ProcedureText, new: ProcedureText) -> bool:
    return ProcedureIndex.of([known]).closest(new) is not None


def count_matches(couples: Sequence[ProcedureCouple]) -> tuple[int, int, int, int]:
    """Pairs of one procedure, those found; pairs of two that are easy to mistake, those mistaken."""
    same = [pair for couple in couples for procedure in couple for pair in combinations(procedure, 2)]
    other = [pair for couple in couples for pair in product(*couple)]
    return len(same), sum(is_similar(*pair) for pair in same), len(other), sum(is_similar(*pair) for pair in other)


def test_one_procedure_in_other_words_is_found_and_another_one_is_not() -> None:
    for name, couples, most_missed, most_mistaken in (
        ("tuned on", TUNING_COUPLES, 6, 9),
        ("held out", HELD_OUT_COUPLES, 2, 0),
    ):
        same, found, other, mistaken = count_matches(couples)
        precision, recall = found / (found + mistaken), found / same
        print(f"{name}: {same} alike, {other} not: precision {precision:.2f}, recall {recall:.2f}")
        assert same - found <= most_missed
        assert mistaken <= most_mistaken


def test_procedures_of_different_matters_are_never_taken_for_one() -> None:
    for couples in (TUNING_COUPLES, HELD_OUT_COUPLES):
        for one, two in combinations(couples, 2):
            for known, new in product((*one[0], *one[1]), (*two[0], *two[1])):
                assert not is_similar(known, new)


def test_a_shelf_of_many_gives_the_right_one() -> None:
    for couples, least in ((TUNING_COUPLES, 21), (HELD_OUT_COUPLES, 23)):
        procedures = [procedure for couple in couples for procedure in couple]
        shelf = ProcedureIndex.of(procedure[0] for procedure in procedures)
        found = [
            (place, closest.place)
            for place, procedure in enumerate(procedures)
            for draft in procedure[1:]
            if (closest := shelf.closest(draft))
        ]
        assert len(found) >= least
        assert all(place == chosen for place, chosen in found)


def test_of_those_behind_only_one_that_surely_says_the_same_counts() -> None:
    one, other = ProcedureText("refund-late-order", "A", "b", "c"), ProcedureText("open-hours", "D", "e", "f")
    shelf = ProcedureIndex.of(
        [other, one, replace(one, name="late-orders-refund"), replace(one, name="orders_late_refund")]
    )
    found = shelf.behind(1)
    assert found == ProcedureLikeness(2, 1.0, "Its name says the same.")
    assert (shelf.behind(0), shelf.behind(3)) == (None, None)
    perhaps = make_procedure("Explain the warranty", "Warranty of batteries.", "Say that the warranty lasts two years")
    also = make_procedure("Tell of warranties", "Warranty of lamps.", "Say that the warranty of lamps is short")
    again = ProcedureIndex.of([perhaps, also]).closest(also)
    assert again is not None
    assert ProcedureIndex.of([perhaps, also]).behind(0) is None, (
        "two short procedures agree in some words whatever they are for"
    )


def test_a_name_that_says_the_same_is_enough() -> None:
    known = ProcedureText("refund-late-order", "A", "b", "c")
    found = ProcedureIndex.of([ProcedureText("other", "D", "e", "f"), known]).closest(
        ProcedureText("late_orders-refunding", "X", "y", "z")
    )
    assert found == ProcedureLikeness(1, 1.0, "Its name says the same.")


def test_the_reason_names_what_decided() -> None:
    cancel = make_procedure("Cancel an order", "Order not wanted.", "Cancel it", "get_order cancel_order")
    found = ProcedureIndex.of([cancel]).closest(
        make_procedure("Stop", "Unwanted.", "Stop it", "cancel_order get_order")
    )
    assert found is not None
    assert found.reason == "Both call `cancel_order`; their words agree by 0%."
    assert found.is_sure
    warranty = make_procedure("Explain the warranty", "Warranty of batteries.", "Say that the warranty lasts two years")
    found = ProcedureIndex.of([warranty]).closest(
        make_procedure("Warranty terms", "Warranty of phones.", "Tell the warranty: two years")
    )
    assert found is not None
    assert found.reason.startswith("Their words agree by ")
    assert "warrant" in found.reason
    assert not found.is_sure, "some of the words may be those of many procedures"
    again = ProcedureIndex.of([warranty]).closest(replace(warranty, name="terms-and-batteries"))
    assert again is not None
    assert again.is_sure


def test_look_ups_alone_need_words_too() -> None:
    track = make_procedure("Late parcel", "Delivery overdue.", "Read the tracking", "get_order get_tracking")
    assert is_similar(
        track, make_procedure("Overdue delivery", "Parcel late.", "Open the tracking", "get_order get_tracking")
    )
    assert not is_similar(
        track, make_procedure("Size of a shoe", "Wrong colour.", "Name the model", "get_order get_tracking")
    )


def test_a_tool_that_everything_calls_does_not_make_things_one() -> None:
    subjects = ["flights to Rome", "hotel rooms", "rental cars", "lost luggage", "seat choice", "meal wishes"]
    known = [make_procedure(f"Answer {each}", f"About {each}.", f"Settle {each}", "run_action") for each in subjects]
    new = make_procedure("Visa questions", "Passport and visa.", "Name the embassy", "run_action")
    assert ProcedureIndex.of(known[: MIN_PROCEDURES - 1]).closest(new) is not None
    assert ProcedureIndex.of(known).closest(new) is None
    again = ProcedureIndex.of(known).closest(
        make_procedure("Luggage lost", "Luggage is lost.", "Find lost luggage", "run_action")
    )
    assert again is not None
    assert again.place == 3


def test_of_equals_the_first_is_taken() -> None:
    draft = make_procedure("Cancel an order", "Order not wanted.", "Cancel it", "cancel_order")
    found = ProcedureIndex.of([draft, draft]).closest(draft)
    assert found is not None
    assert found.place == 0


def test_nothing_is_like_nothing() -> None:
    empty = ProcedureText("", "", "", "")
    assert ProcedureIndex.of([]).closest(empty) is None
    assert ProcedureIndex.of([empty]).closest(empty) is None


def test_tools_are_those_named_in_the_procedure() -> None:
    steps = "## Procedure\n1. Call `get_order` with `order_id`.\n2. cancel-order."
    body = f"## When to Use\nNot get_user.\n{steps}\n## Pitfalls\n`refund`"
    assert tools_in(body, ["get_order", "cancel-order", "refund", "get_user"]) == {"get_order", "cancel-order"}
    assert tools_in("call refund", ["refund"]) == {"refund"}


WORDS = st.text(alphabet="abcdefg \n#`.", max_size=60)
DRAFTS = st.builds(
    ProcedureText,
    WORDS,
    WORDS,
    WORDS,
    WORDS,
    st.frozensets(st.sampled_from(["get_a", "set_a", "set_b", "x"]), max_size=3),
)


@given(st.lists(DRAFTS, max_size=6), DRAFTS)
def test_a_score_is_a_share_and_the_place_exists(known: list[ProcedureText], new: ProcedureText) -> None:
    found = ProcedureIndex.of(known).closest(new)
    if found:
        assert 0 <= found.place < len(known)
        assert 0 < found.score <= 1
        assert found.reason.endswith(".")


def test_one_procedure_in_other_words_joins_the_group_of_the_first() -> None:
    cancel = make_procedure("Cancel an order", "Order not wanted.", "Cancel it", "cancel_order")
    track = make_procedure("Late parcel", "Parcel is late.", "Open the tracking", "get_tracking")
    assert group_procedures([cancel, track, cancel, track]) == [[0, 2], [1, 3]]


@given(st.lists(DRAFTS, max_size=8))
def test_every_draft_is_in_one_group(drafts: list[ProcedureText]) -> None:
    groups = group_procedures(drafts)
    assert sorted(place for group in groups for place in group) == list(range(len(drafts)))
    assert [group[0] for group in groups] == sorted(group[0] for group in groups)


def _best_seconds(drafts: list[ProcedureText]) -> float:
    """Of five tries the shortest: whatever else the machine does only adds to one."""
    taken = []
    for _ in range(5):
        begun = process_time()
        ProcedureIndex.of(drafts).closest(drafts[0])
        taken.append(process_time() - begun)
    return min(taken)


@pytest.mark.unmeasured
def test_ten_times_the_known_take_about_ten_times_as_long() -> None:
    kinds = [draft for couple in (*TUNING_COUPLES, *HELD_OUT_COUPLES) for procedure in couple for draft in procedure]
    few, many = (_best_seconds([kinds[place % len(kinds)] for place in range(known)]) for known in (50, 500))
    print(f"{many * 1000:.0f} ms to read 500 known ones and find the closest")
    assert many < 30 * few


@pytest.mark.unmeasured
@pytest.mark.skipif(not REAL.exists(), reason="the shared transcripts are not here")
def test_a_hundred_real_conversations_make_few_groups_and_none_is_mixed() -> None:
    drafts = list(_drafts())
    groups = group_procedures(drafts)
    print(f"{len(drafts)} drafts of {len({draft.name for draft in drafts})} names in {len(groups)} groups")
    assert len(drafts) > 50
    assert len(groups) < 15
    for group in groups:
        changes = [drafts[place].tools.intersection(CHANGING_TOOLS) for place in group]
        assert len(set(changes)) == 1, [drafts[place].name for place in group]


def _drafts() -> Iterator[ProcedureText]:
    """What the stand-in writes of every conversation, whatever came of it: more than the gate would let through."""
    for line in REAL.read_bytes().splitlines():
        transcript = parse_line(line)
        assert isinstance(transcript, ImportedTranscript)
        if isinstance(check_eligibility(transcript.lines, "unknown", off_the_record=False), EligibleConversation):
            skill = json.loads(extract_skill(transcript_message(list(_transcript_lines(transcript)))))["skill"]
            if skill:
                tools = {call.name for line in transcript.lines for call in line.tool_calls}
                yield ProcedureText(**skill, tools=tools_in(skill["body"], tools))


def _transcript_lines(transcript: ImportedTranscript) -> Iterator[TranscriptLine]:
    for line in transcript.lines:
        if line.text:
            yield TranscriptLine(role=line.sender, text=line.text)
        for call in line.tool_calls:
            yield TranscriptLine(role="agent", tool_name=call.name, arguments=json.loads(json.dumps(call.arguments)))
            yield TranscriptLine(role="tool", text=call.result, tool_name=call.name, is_error=call.is_error)
