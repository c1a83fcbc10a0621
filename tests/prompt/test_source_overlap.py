"""How much of a reply a source has too, told by words."""

import pytest

from apps.prompt.text_reuse.source_overlap import (
    NO_OVERLAP,
    Overlap,
    OverlapPiece,
    WordIndex,
    find_overlap,
    split_by_overlap,
)

pytestmark = [pytest.mark.pure, pytest.mark.kernel]

REPLY = "You have 14 days to return the blue kettle.\nWe refund to your card."
RULE = "Opened parcels: no refund.\nCustomers have 14 days to return goods; we refund to the card they paid with."


def overlap_of(reply: str, source: str) -> Overlap:
    return find_overlap(WordIndex.of(reply), WordIndex.of(source))


def marked_texts(text: str, stretches: tuple[tuple[int, int], ...]) -> list[str]:
    return [text[start:end] for start, end in stretches]


def test_words_in_the_same_order_are_shared_and_found_in_both_texts() -> None:
    found = overlap_of(REPLY, RULE)
    assert marked_texts(REPLY, found.in_reply) == ["14 days to return", "refund to your card"]
    assert marked_texts(RULE, found.in_source) == ["14 days to return", "refund to the card"]
    # 14, days, return, refund and card of these and blue and kettle.
    assert found.share == pytest.approx(5 / 7)


@pytest.mark.parametrize(
    ("reply", "source"),
    [
        ("", "A parcel is late."),
        ("Hello and thank you!", "Hello and thank you!"),
        ("The kettle is blue.", ""),
        # Each word alone says nothing.
        ("The kettle is blue.", "Blue lamps stand beside every kettle."),
        ("We repay it at once.", "Refund without delay."),
    ],
)
def test_words_that_stand_apart_or_tell_nothing_are_not_shared(reply: str, source: str) -> None:
    assert overlap_of(reply, source) == NO_OVERLAP


def test_a_number_is_shared_by_itself() -> None:
    found = overlap_of("Your code is AB12.", "The customer's code: ab12, order open")
    assert marked_texts("Your code is AB12.", found.in_reply) == ["code is AB12"]
    assert overlap_of("It takes 30 days.", "Limit 30").share == pytest.approx(1 / 3)


def test_the_same_text_is_shared_whole() -> None:
    assert overlap_of(REPLY, REPLY).share == 1.0


def test_only_lines_with_something_shared_are_shown_cut_at_its_edges() -> None:
    found = overlap_of(REPLY, RULE)
    assert split_by_overlap(RULE, found.in_source) == (
        (
            OverlapPiece("Customers have ", is_shared=False),
            OverlapPiece("14 days to return", is_shared=True),
            OverlapPiece(" goods; we ", is_shared=False),
            OverlapPiece("refund to the card", is_shared=True),
            OverlapPiece(" they paid with.", is_shared=False),
        ),
    )
    assert split_by_overlap(RULE, ()) == ()


def test_a_stretch_across_lines_is_shown_in_each() -> None:
    assert split_by_overlap("one two\nthree", ((4, 13),)) == (
        (OverlapPiece("one ", is_shared=False), OverlapPiece("two", is_shared=True)),
        (OverlapPiece("three", is_shared=True),),
    )
