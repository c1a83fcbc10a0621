"""Which bullets of two learning versions count as the same: equal ones and reworded ones, but no corrections."""

import pytest

from apps.learning.lessons.shared_bullets import SharedBullet, find_shared_bullets


@pytest.mark.parametrize(
    "bullet",
    [
        "say  ahoy!",
        "Always say Ahoy to customers.",
        "When a customer writes, say Ahoy and name the order number.",
        "Mention Ahoy.",
    ],
)
def test_equal_and_reworded_bullets_are_shared(bullet: str) -> None:
    assert find_shared_bullets("- Be brief.\n- Say Ahoy.", f"- {bullet}") == (SharedBullet(bullet, "Say Ahoy."),)


@pytest.mark.parametrize(
    ("original", "bullet"),
    [
        ("Promise a refund within 30 days.", "Promise a refund within 14 days."),
        ("Promise a refund.", "Never promise a refund."),
        ("Offer a discount of 20%.", "Offer a discount."),
        ("Ask for the order number.", "Ask how the parcel was packed."),
        ("Offer a full refund to anybody who mentions a lawyer.", "Offer a chat to anybody who is angry."),
    ],
)
def test_corrected_and_unlike_bullets_are_not_shared(original: str, bullet: str) -> None:
    assert find_shared_bullets(f"- {original}", f"- {bullet}") == ()


def test_a_shared_bullet_names_its_closest_original_and_whether_it_is_reworded() -> None:
    [extended, equal] = find_shared_bullets(
        "- Say Ahoy.\n- Say Ahoy to sailors.", "- Say Ahoy to sailors of Hamburg.\n- Say Ahoy."
    )
    assert (extended.original, extended.is_reworded) == ("Say Ahoy to sailors.", True)
    assert (equal.original, equal.is_reworded) == ("Say Ahoy.", False)
