"""The books of the prompt cache: bills divided among the slots, and the byte where two requests part."""

import pytest

from apps.prompt.cache.cost_attribution import (
    CacheMark,
    ChargedTokens,
    FirstDifference,
    SentBlock,
    SlotCharge,
    charge_slots,
    first_difference,
    parse_charges,
    parse_marks,
)
from apps.prompt.prompt_input import Slot, TextProvenance
from apps.prompt.rendering.segments import Segment, SlotText

pytestmark = [pytest.mark.pure, pytest.mark.kernel]

ANN = TextProvenance("personas.persona", 1, 2, "style", "operator:1", "operator:1", "operator")


def tools(text: str = "[]", tokens: int = 100) -> SentBlock:
    return SentBlock(Slot.TOOLS, "tools", text.encode(), tokens)


def persona(style: str, tokens: int = 300, lead: int = 0) -> SentBlock:
    part = SlotText(Slot.PERSONA, (Segment("# Ä\n", None, "title.persona"), Segment(style, ANN, "", 1)))
    return SentBlock(Slot.PERSONA, "persona", b"-" * lead + part.text.encode(), tokens, part, lead)


def message(text: str, number: int = 1, tokens: int = 50) -> SentBlock:
    return SentBlock(Slot.TURN, f"message {number}", text.encode(), tokens)


def test_a_bill_is_divided_among_the_slots_it_covers() -> None:
    sent = ((Slot.TOOLS, 100), (Slot.PERSONA, 300), (Slot.TURN, 50), (Slot.TURN, 50))
    assert charge_slots(sent, 400, ChargedTokens(read=100, written=350, uncached=50)) == (
        SlotCharge(Slot.TOOLS, 100, 100, 100, 0, 0),
        SlotCharge(Slot.PERSONA, 300, 300, 0, 300, 0),
        SlotCharge(Slot.TURN, 100, 0, 0, 50, 50),
    )


def test_a_charge_is_read_from_the_books_as_it_was_written() -> None:
    charge = SlotCharge(Slot.TURN, 100, 0, 10, 50, 40)
    assert charge.line == "6 100 0 10 50 40"
    assert SlotCharge.of_line(charge.line) == charge


def test_estimates_are_stretched_to_what_was_billed() -> None:
    charges = charge_slots(((Slot.TOOLS, 100), (Slot.PERSONA, 300)), 0, ChargedTokens(read=0, written=0, uncached=801))
    assert [charge.tokens for charge in charges] == [200, 601]
    assert sum(charge.uncached for charge in charges) == 801
    assert charge_slots((), 0, ChargedTokens(0, 0, 0)) == ()


def test_a_request_that_goes_on_where_the_one_before_ended_parts_nowhere() -> None:
    before = (tools(), persona("Brief."), message("Hello"))
    assert first_difference(before, (*before, message("Hi", 2))) is None


def test_the_first_differing_byte_names_its_slot_and_whose_words_stand_there() -> None:
    before, now = (tools(), persona("Brief.", lead=7)), (tools(), persona("Broad.", lead=7))
    segment = Segment("Broad.", ANN, "", 1)
    assert first_difference(before, now) == FirstDifference(
        Slot.PERSONA, "persona", 7 + len("# Ä\nBr".encode()), segment
    )


def test_where_words_went_their_owner_is_who_wrote_them() -> None:
    before, now = (persona("Brief. Warm."),), (persona("Brief."),)
    found = first_difference(before, now)
    assert found is not None
    assert (found.byte, found.segment) == (len("# Ä\nBrief.".encode()), Segment("Brief. Warm.", ANN, "", 1))


def test_a_block_that_is_gone_and_one_without_owners() -> None:
    gone = first_difference((tools(), persona("Brief.")), (tools(),))
    assert gone == FirstDifference(Slot.PERSONA, "persona", 0, Segment("# Ä\n", None, "title.persona"))
    assert first_difference((message("Hello"),), (message("Help"),)) == FirstDifference(Slot.TURN, "message 1", 3, None)


def test_a_mark_is_kept_as_a_line_and_read_back() -> None:
    marks = (CacheMark(Slot.MEMORY, None, "1h", 5_210), CacheMark(Slot.TURN, 2, "5m", 6_000))
    assert ";".join(mark.line for mark in marks) == f"{int(Slot.MEMORY)} -1 1h 5210;{int(Slot.TURN)} 2 5m 6000"
    assert parse_marks(";".join(mark.line for mark in marks)) == marks
    assert parse_marks("") == ()
    assert parse_marks(None) is None


def test_bills_of_an_earlier_release_are_read_too() -> None:
    charge = SlotCharge(Slot.MEMORY, 100, 90, 80, 10, 10)
    earlier = [{"slot": 4, "tokens": 100, "expected_read": 90, "read": 80, "written": 10, "uncached": 10}]
    assert parse_charges(earlier) == parse_charges(charge.line) == (charge,)
    assert parse_charges("") == ()
