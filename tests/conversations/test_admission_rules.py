"""Signatures of customers, and how long whoever sends too much has to wait."""

from datetime import UTC, datetime, timedelta

import pytest

from apps.conversations.rules import seconds_to_wait
from apps.tenants.rules import is_signature_of, key_flaw, signature_of

pytestmark = [pytest.mark.pure, pytest.mark.kernel]

KEY = "0123456789abcdef0123456789abcdef"
NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)


def test_a_signature_is_the_hmac_that_every_language_makes() -> None:
    expected = "f582971b0df3ba63c7ae360763e979a3b95b72bba22a72c1a460dbe410f6e1ad"
    assert signature_of(KEY, "http:ann") == expected
    assert is_signature_of(KEY, "http:ann", signature_of(KEY, "http:ann"))


@pytest.mark.parametrize(
    ("key", "customer", "user_hash"),
    [
        (KEY, "http:bob", signature_of(KEY, "http:ann")),
        (KEY[::-1], "http:ann", signature_of(KEY, "http:ann")),
        (KEY, "http:ann", signature_of(KEY, "http:ann").upper()),
        (KEY, "http:ann", signature_of(KEY, "http:ann")[:-1]),
        (KEY, "http:ann", ""),
        (KEY, "http:ann", "é" * 64),
    ],
)
def test_nothing_but_the_signature_of_this_customer_by_this_key_is_one(key: str, customer: str, user_hash: str) -> None:
    assert not is_signature_of(key, customer, user_hash)


@pytest.mark.parametrize("key", ["", "k" * 31, "k" * 501, f"{KEY} ", f"{KEY}é", f"{KEY}\n"])
def test_a_key_that_is_short_long_or_mistyped_is_none(key: str) -> None:
    assert "32 to 500" in key_flaw(key)
    assert not key_flaw(KEY)


@pytest.mark.parametrize(("ago", "seconds"), [(0, 60), (59.5, 1), (60, 1), (30.2, 30)])
def test_the_wait_ends_when_the_oldest_message_is_as_long_ago_as_is_counted(ago: float, seconds: int) -> None:
    assert seconds_to_wait(NOW - timedelta(seconds=ago), timedelta(minutes=1), NOW) == seconds
