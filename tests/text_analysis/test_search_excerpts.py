"""Where in a text the words stand that somebody looked for."""

import pytest

from apps.text_analysis.search_excerpts import EXCERPT_CHARACTERS, ExcerptPiece, make_excerpt, query_words

pytestmark = [pytest.mark.pure, pytest.mark.kernel]

LONG_TEXT = " ".join(f"word{number}" for number in range(200))


def marked_excerpt(text: str, asked: str) -> str:
    """The excerpt, with brackets round what was looked for."""
    return "".join(f"[{piece.text}]" if piece.is_hit else piece.text for piece in make_excerpt(text, asked))


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ("late parcel", ("late", "parcel")),
        ("late or lost", ("late", "lost")),
        ("parcel -lost", ("parcel",)),
        ('"two weeks" late late', ("two", "weeks", "late")),
        ("...", ()),
    ],
)
def test_words_left_out_and_the_word_or_are_not_looked_for(asked: str, words: tuple[str, ...]) -> None:
    assert query_words(asked) == words


@pytest.mark.parametrize(
    ("text", "asked", "shown"),
    [
        ("My parcels are late.", "parcel late", "My [parcels] are [late]."),
        ("Parcel, parcel!", "PARCEL", "[Parcel], [parcel]!"),
        ("My parcels are late.", '"parcel"', "My parcels are late."),
        ("It is so, also.", "so", "It is [so], also."),
        ("Two\n  lines", "lines", "Two [lines]"),
        ("Nothing of it.", "parcel", "Nothing of it."),
        ("Nothing is asked.", "...", "Nothing is asked."),
    ],
)
def test_what_was_looked_for_is_marked_where_it_stands(text: str, asked: str, shown: str) -> None:
    assert marked_excerpt(text, asked) == shown


def test_a_long_text_is_cut_at_words_about_the_first_hit() -> None:
    pieces = make_excerpt(LONG_TEXT, "word100")
    text = "".join(piece.text for piece in pieces)
    assert pieces[0] == ExcerptPiece("… ")
    assert pieces[-1] == ExcerptPiece(" …")
    assert [piece.text for piece in pieces if piece.is_hit] == ["word100"]
    assert set(text.strip("… ").split()) <= set(LONG_TEXT.split())
    assert len(text) <= EXCERPT_CHARACTERS + 4


def test_a_long_text_without_a_hit_is_shown_from_its_beginning() -> None:
    pieces = make_excerpt(LONG_TEXT, "parcel")
    assert pieces[0].text.startswith("word0 word1")
    assert pieces[-1] == ExcerptPiece(" …")


def test_an_endless_word_is_cut_all_the_same() -> None:
    assert len("".join(piece.text for piece in make_excerpt("a" * 1_000, "b"))) <= EXCERPT_CHARACTERS
