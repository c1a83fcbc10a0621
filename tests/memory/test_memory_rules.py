"""Keys and facts of what is remembered."""

import re

import pytest

from apps.memory.rules import END_USER_KEY_PATTERN, add_fact, label_key

pytestmark = [pytest.mark.pure, pytest.mark.kernel]


@pytest.mark.parametrize(
    ("before", "fact", "after"),
    [
        ("", "Prefers letters.", "Prefers letters."),
        ("Prefers letters.", "Prefers letters.", "Prefers letters."),
        ("Prefers letters.", "Kind.\nPrefers letters.", "Prefers letters.\nKind."),
        ("A.\n\n  B.  ", "\n C. \n", "A.\nB.\nC."),
        ("A.", "", "A."),
        ("", "", ""),
    ],
)
def test_a_fact_is_said_once(before: str, fact: str, after: str) -> None:
    # R088
    assert add_fact(before, fact) == after
    assert add_fact(after, fact) == after


@pytest.mark.parametrize("key", ["slack:U12345", "http:abc123", "telegram:5871234", "x:a:b"])
def test_an_end_user_is_a_channel_and_its_id(key: str) -> None:
    # R009
    assert re.match(END_USER_KEY_PATTERN, key)
    for wrong in (f"{key} x", f" {key}", f"{key}\n", key.partition(":")[0], f":{key}"):
        assert not re.match(END_USER_KEY_PATTERN, wrong)


def test_a_label_is_the_same_however_it_is_spelled() -> None:
    assert label_key("Business_Facts") == label_key("business-facts") == label_key("BusinessFacts") == "businessfacts"
