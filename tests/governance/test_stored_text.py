"""What may be stored, and the hash it is known by."""

import pytest
from django.core.exceptions import ValidationError

from apps.governance.stored_text import content_sha256, validate_storable_text

pytestmark = [pytest.mark.pure, pytest.mark.kernel]


@pytest.mark.parametrize("text", ["", "Hello", "日本語 🎉", "a\tb\nc\x7f"])
def test_text_is_stored_as_it_came(text: str) -> None:
    # R071: what may not stand in a prompt is taken out there, not here.
    validate_storable_text(text)


@pytest.mark.parametrize(("text", "words"), [("a\x00b", "NUL"), ("a\ud800b", "position 1")])
def test_what_no_database_holds_is_refused_in_words(text: str, words: str) -> None:
    with pytest.raises(ValidationError, match=words):
        validate_storable_text(text)


def test_the_hash_tells_where_one_text_ends() -> None:
    assert content_sha256("ab", "c") != content_sha256("a", "bc")
    assert content_sha256("ab", "c") == content_sha256("ab", "c")
