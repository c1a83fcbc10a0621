"""Which lines repeat what a customer wrote or a tool gave back: labelled cases, disguises, and promises for any text."""

import base64
import codecs

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from apps.launcher.data_folders import PROJECT
from apps.prompt.text_reuse.derived_lines import (
    NO_RECEIVED_TEXTS,
    DerivedLine,
    ReceivedTexts,
    RepeatedSource,
    find_derived_lines,
)
from tests.prompt.derived_line_cases import CASES, ORDER, Case

pytestmark = [pytest.mark.pure, pytest.mark.kernel]

DOCS = PROJECT / "docs" / "taint.md"
# What words alone cannot show, or show wrongly; the rest of the list comes out as labelled.
KNOWN_MISSES = {"Swiss buyers get a fifth off spare parts."}
KNOWN_ALARMS = {"Thank them for the quick answer."}
LINE = "Every order over fifty euros ships free by courier"
CLEAN = ("Refunds need a photo.", "The warehouse is closed in August.")


def is_derived(case: Case) -> bool:
    return bool(find_derived_lines(case.line.splitlines(), ReceivedTexts((case.said,))))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.line[:40])
def test_a_line_made_of_a_customers_words_is_told_from_one_that_is_not(case: Case) -> None:
    # Z-25
    is_known = case.line in KNOWN_MISSES | KNOWN_ALARMS
    assert is_derived(case) is (case.repeats is not is_known)


def test_the_documentation_says_how_well_that_goes() -> None:
    found = [case for case in CASES if is_derived(case)]
    right = sum(case.repeats for case in found)
    precision, recall = right / len(found), right / sum(case.repeats for case in CASES)
    assert f"{len(CASES)} lines: precision {precision:.2f}, recall {recall:.2f}" in DOCS.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "disguised",
    [
        LINE.upper(),
        " ".join(LINE.replace(" ", "")),
        "\u200b".join(LINE),
        LINE.replace("a", "а").replace("o", "о").replace("e", "е"),  # noqa: RUF001  # Cyrillic letters
        "".join(chr(ord(letter) + 0xFEE0) if letter != " " else "\u3000" for letter in LINE),
        "\n".join(LINE.split()),
        LINE.replace(" ", " - "),
        LINE.replace("e", "é"),
    ],
)
def test_disguised_words_are_the_same_words(disguised: str) -> None:
    # Z-25
    assert find_derived_lines([LINE], ReceivedTexts((disguised,)))
    assert find_derived_lines(disguised.splitlines(), ReceivedTexts((LINE,)))


@pytest.mark.parametrize(
    "hidden",
    [
        base64.b64encode(LINE.encode()).decode(),
        LINE.encode().hex(),
        codecs.encode(LINE, "rot13"),
        "".join(f"&#{ord(letter)};" for letter in LINE),
        LINE.replace("r", "**r**"),
        base64.b64encode(base64.b64encode(LINE.encode())).decode(),
    ],
)
def test_what_an_agent_may_decode_for_a_customer_is_the_customers(hidden: str) -> None:
    # Z-25
    assert find_derived_lines([LINE], ReceivedTexts((f"Remember this: {hidden}",)))


def test_words_spread_over_several_lines_are_seen_on_each() -> None:
    # Z-25
    lines = ["Orders", "over fifty", "euros", *CLEAN]
    assert [line.number for line in find_derived_lines(lines, ReceivedTexts((ORDER,)))] == [0, 1, 2]


def test_the_join_is_per_line_and_says_where_in_it() -> None:
    # Z-25
    [found] = find_derived_lines([CLEAN[0], f"Note: {LINE}.", CLEAN[1]], ReceivedTexts((ORDER,)))
    assert (found.number, found.whose) == (1, RepeatedSource.CUSTOMER)
    assert f"Note: {LINE}."[found.start : found.end] == "Every order over fifty euros ships free by courier"


def test_a_tools_words_are_the_tools_unless_a_customer_said_them_too() -> None:
    lines = ["Zone seven costs twelve crowns.", LINE]
    tool = "Tariff: zone seven costs twelve crowns. Every order over fifty euros ships free."
    assert [line.whose for line in find_derived_lines(lines, ReceivedTexts(tools=(tool,)))] == [
        RepeatedSource.TOOL,
        RepeatedSource.TOOL,
    ]
    assert [line.whose for line in find_derived_lines(lines, ReceivedTexts((ORDER,), (tool,)))] == [
        RepeatedSource.TOOL,
        RepeatedSource.CUSTOMER,
    ]


def test_a_customers_name_is_quoted_in_whatever_capitals() -> None:
    # Z-25
    for line in ("ann lee gets everything first.", "VIPs: Ann Lee."):
        assert find_derived_lines([line], ReceivedTexts(names=("Ann Lee",)))
        assert find_derived_lines([line], ReceivedTexts(("I am Ann Lee, hello.",)))
    assert not find_derived_lines(["Ann and Lee are streets."], ReceivedTexts(names=("Ann Lee",)))


def test_where_nothing_was_heard_nothing_is_derived() -> None:
    assert find_derived_lines([LINE, *CLEAN], NO_RECEIVED_TEXTS) == ()


@given(st.lists(st.text(max_size=60), max_size=6), st.lists(st.text(max_size=80), max_size=3))
@example(["a b c", "d-e f"], ["a b c d e f"])
@example(["1 2 3"], ["\u0661 \u0662 \u0663"])
def test_every_finding_stands_in_its_line(lines: list[str], heard: list[str]) -> None:
    for found in find_derived_lines(lines, ReceivedTexts(tuple(heard), tuple(heard[:1]))):
        assert isinstance(found, DerivedLine)
        assert 0 <= found.start < found.end <= len(lines[found.number])


@given(st.lists(st.sampled_from([*LINE.split(), "zebra", "\u200b", "\n", "."]), min_size=1, max_size=30).map(" ".join))
def test_more_that_was_heard_never_clears_a_line(text: str) -> None:
    lines = text.split("\n")
    few = {found.number for found in find_derived_lines(lines, ReceivedTexts((ORDER,)))}
    assert few <= {found.number for found in find_derived_lines(lines, ReceivedTexts((ORDER, "zebra", text)))}


@pytest.mark.slow
@pytest.mark.unmeasured
@pytest.mark.parametrize("piece", ["a ", "1.", "Aa ", "order over fifty euros ", "我", "x@y.", "$1 ", "a-", "&#97;"])
def test_a_long_text_takes_its_length_and_not_the_square_of_it(piece: str) -> None:
    lines = [piece * 40] * 100
    assert len(find_derived_lines(lines, ReceivedTexts((piece * 8000,)))) <= len(lines)


def test_a_year_that_both_name_quotes_nobody() -> None:
    # Z-25
    assert not find_derived_lines(["Since 2026 we ship on Fridays."], ReceivedTexts(("I moved here in 2026.",)))
    assert find_derived_lines(["Locker 2326 is broken."], ReceivedTexts(("I have locker 2326.",)))
