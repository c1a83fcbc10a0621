"""What a restored skill is called."""

import pytest

from apps.restore.rules import fresh_name

pytestmark = [pytest.mark.pure, pytest.mark.kernel]


def test_a_free_name_is_taken_as_it_is() -> None:
    assert fresh_name("refund", {"other"}, 64) == "refund"


def test_a_taken_name_gets_a_suffix_and_then_a_number() -> None:
    assert fresh_name("refund", {"refund"}, 64) == "refund-restored"
    assert fresh_name("refund", {"refund", "refund-restored", "refund-restored-2"}, 64) == "refund-restored-3"


def test_no_name_is_longer_than_it_may_be_or_ends_in_two_hyphens() -> None:
    assert fresh_name("abcd-efgh", {"abcd-efgh"}, 14) == "abcd-restored"
