"""What a skill may be called."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.skills.rules import NAME_CHARACTERS, NAME_PATTERN, named, slug


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("Issue a refund", "issue-a-refund"),
        ("  Was ist, wenn… ÄÖÜ? ", "was-ist-wenn-aou"),
        ("A--B__C", "a-b-c"),
        ("退款", ""),
        ("", ""),
    ],
)
def test_a_title_gives_a_name(title: str, name: str) -> None:
    # R100
    assert slug(title) == name


def test_a_long_title_is_cut_at_a_whole_word() -> None:
    words = "refund " * 20
    assert slug(words) == "-".join(["refund"] * 9)
    assert slug("x" * 100) == "x" * NAME_CHARACTERS
    assert len(slug("a" * 30 + " " + "b" * 33)) == NAME_CHARACTERS


@given(st.text())
def test_whatever_the_title_the_name_is_lawful_or_empty(title: str) -> None:
    assert slug(title) == "" or re.match(NAME_PATTERN, slug(title))
    assert len(slug(title)) <= NAME_CHARACTERS


@pytest.mark.parametrize(
    ("given_name", "given_title", "name", "title"),
    [
        ("", "Issue a refund", "issue-a-refund", "Issue a refund"),
        ("issue-a-refund", "", "issue-a-refund", "Issue a refund"),
        ("x", "Something else", "x", "Something else"),
        ("", "", "", ""),
    ],
)
def test_name_and_title_complete_each_other(given_name: str, given_title: str, name: str, title: str) -> None:
    completed = named(given_name, given_title)
    assert (completed.name, completed.title) == (name, title)
