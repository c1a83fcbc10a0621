"""How a saved filter may be called, where it stands, and who takes it away."""

import pytest

from apps.review.rules import FILTERS_KEPT, free_quota_slot, may_delete_filter, name_flaw, single_spaced

pytestmark = [pytest.mark.pure, pytest.mark.kernel]


@pytest.mark.parametrize(
    "name", ["x", "High tier, older than 3 days", "x" * 60, "Señales de alarma", "👩\u200d💻 mine"]
)
def test_a_plain_name_passes(name: str) -> None:
    assert name_flaw(name) == ""


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("", "The filter has no name."),
        ("\u200d", "The filter has no name."),
        ("x" * 61, "The name has 61 characters; at most 60 are allowed."),
        ("mine\u202etseb", "invisible characters"),
        ("a\x1bb", "invisible characters"),
    ],
)
def test_a_name_that_says_nothing_or_hides_something_is_refused(name: str, message: str) -> None:
    assert message in name_flaw(name)


def test_a_name_is_one_line() -> None:
    assert single_spaced("  High\r\n tier\u00a0only ") == "High tier only"


def test_each_filter_has_a_place_and_there_are_no_more() -> None:
    assert free_quota_slot(set()) == 1
    assert free_quota_slot({1, 3}) == 2
    assert free_quota_slot(range(1, FILTERS_KEPT)) == FILTERS_KEPT
    assert free_quota_slot(range(1, FILTERS_KEPT + 1)) is None


def test_ones_own_and_for_an_admin_the_shared_ones() -> None:
    assert may_delete_filter(is_own=True, is_shared=False, is_admin=False)
    assert may_delete_filter(is_own=False, is_shared=True, is_admin=True)
    assert not may_delete_filter(is_own=False, is_shared=True, is_admin=False)
    assert not may_delete_filter(is_own=False, is_shared=False, is_admin=True)
