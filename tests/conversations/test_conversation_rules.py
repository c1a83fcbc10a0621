"""What may arrive."""

import re

import pytest

from apps.conversations.rules import CHANNEL, DELEGATION_CHANNEL, EVENT_CHARACTERS, SCHEDULE_CHANNEL, message_flaws

pytestmark = [pytest.mark.pure, pytest.mark.kernel]


@pytest.mark.parametrize("text", ["Hi", "x" * EVENT_CHARACTERS, " . "])
@pytest.mark.parametrize("end_user_key", ["", "http:abc"])
def test_words_of_somebody_on_the_channel_are_taken(text: str, end_user_key: str) -> None:
    assert message_flaws(text, end_user_key, "http") == {}


@pytest.mark.parametrize(
    ("text", "end_user_key", "fields"),
    [
        ("", "", {"text"}),
        (" \n\t", "", {"text"}),
        ("x" * (EVENT_CHARACTERS + 1), "", {"text"}),
        ("Hi", "slack:abc", {"end_user_key"}),
        ("Hi", "abc", {"end_user_key"}),
        ("", "httpx:abc", {"text", "end_user_key"}),
    ],
)
def test_what_cannot_be_taken_says_why_by_field(text: str, end_user_key: str, fields: set[str]) -> None:
    # R009
    flaws = message_flaws(text, end_user_key, "http")
    assert set(flaws) == fields
    assert all(reason.endswith((".", "id.")) for reasons in flaws.values() for reason in reasons)


@pytest.mark.parametrize("channel", [SCHEDULE_CHANNEL, DELEGATION_CHANNEL])
def test_a_customer_writes_on_no_channel_of_ours(channel: str) -> None:
    flaws = message_flaws("Hi", f"{channel}:abc", channel, is_of_customer=True)
    assert set(flaws) == {"channel"}
    assert message_flaws("Hi", "", channel) == message_flaws("Hi", "", "http", is_of_customer=True) == {}


@pytest.mark.parametrize(
    ("channel", "lawful"), [("http", True), ("web_chat-2", True), ("", False), ("2x", False), ("A", False)]
)
def test_a_channel_is_a_lower_case_word(channel: str, lawful: bool) -> None:
    assert bool(re.match(CHANNEL, channel)) == lawful
