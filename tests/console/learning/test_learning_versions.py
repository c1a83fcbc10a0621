"""The page of a learning version: who reads it, which other versions repeat its bullets, and its withdrawal with them (R146)."""

import re
from typing import Any

import pytest
from django.test import Client

from apps.learning.lessons.models import LearningVersion
from tests.support.drivers.console_client import decision_of, page_of, page_words
from tests.support.factories.lessons import QUARANTINE_REASON, make_version, versions_of
from tests.support.worlds.world import World

pytestmark = pytest.mark.django_db


def withdraw(client: Client, version: LearningVersion, *staying: object, reason: str = QUARANTINE_REASON) -> Any:
    """Send the form of the decision, with ticks at the versions that stay."""
    sent = {"read_at": version.version, "reason": reason, "staying_version_ids": [str(each) for each in staying]}
    return client.post(decision_of(version, "withdraw"), sent, follow=True)


@pytest.mark.parametrize(
    ("status", "sentence"),
    [
        ("pending", "No person has approved it. No conversation reads it."),
        ("active", "The agent reads it as instructions."),
        ("retired", "Only conversations that began with it read it, as instructions."),
        ("rejected", "No person has approved it. No conversation reads it."),
        ("withdrawn", "It was withdrawn: no turn reads it any more."),
    ],
)
def test_the_page_says_who_reads_the_version(world: World, operator: Client, status: str, sentence: str) -> None:
    page = page_words(operator.get(page_of(make_version(world, status))))
    assert sentence in page
    if status == "withdrawn":
        assert "The agent reads it" not in page


def test_versions_with_the_same_bullet_are_listed_before_the_withdrawal_and_go_with_it(
    world: World, operator: Client
) -> None:
    make_version(world, "active", "- Say Ahoy.")
    make_version(world, "active", "- Say Ahoy.\n- Be brief.")
    make_version(world, "pending", "- Always say Ahoy to customers.")
    first, second, third = versions_of(world)
    page = page_words(operator.get(page_of(first)))
    assert "Other versions with its bullets" in page
    assert "Version 2 (active): “Say Ahoy.”" in page
    assert "Version 3 (waits for a person): “Always say Ahoy to customers.”" in page
    done = withdraw(operator, first)
    assert "nor a version that was withdrawn with it" in page_words(done)
    assert [version.status for version in versions_of(world)] == ["withdrawn", "withdrawn", "rejected"]
    assert "no turn reads it any more" in page_words(operator.get(page_of(second)))
    assert "No conversation reads it" in page_words(operator.get(page_of(third)))


def test_a_ticked_version_stays_and_both_pages_say_so(world: World, operator: Client) -> None:
    make_version(world, "active", "- Say Ahoy.")
    make_version(world, "active", "- Say Ahoy.\n- Be brief.")
    first, second = versions_of(world)
    withdraw(operator, first, second.pk)
    assert [version.status for version in versions_of(world)] == ["withdrawn", "active"]
    assert "These versions were not withdrawn with it." in page_words(operator.get(page_of(first)))
    page = page_words(operator.get(page_of(second)))
    assert "Version 1 was withdrawn, and this version repeats its bullets: “Say Ahoy.”." in page


def test_a_refused_withdrawal_keeps_every_tick(world: World, operator: Client) -> None:
    make_version(world, "active", "- Say Ahoy.")
    make_version(world, "active", "- Say Ahoy.\n- Be brief.")
    make_version(world, "pending", "- Say Ahoy.\n- Be kind.")
    first, second, third = versions_of(world)
    refused = withdraw(operator, first, second.pk, third.pk, reason="")
    assert refused.status_code == 422
    ticked = re.findall(r'<input[^>]*name="staying_version_ids"[^>]* checked', refused.content.decode())
    assert len(ticked) == 2
    assert [version.status for version in versions_of(world)] == ["retired", "active", "pending"]


@pytest.mark.parametrize("sent", ["x", "0", "999999"])
def test_a_version_that_has_none_of_its_bullets_is_refused_by_name(world: World, operator: Client, sent: str) -> None:
    version = make_version(world, "active", "- Say Ahoy.")
    refused = withdraw(operator, version, sent)
    assert refused.status_code == 422
    assert [each.status for each in versions_of(world)] == ["active"]


def test_a_version_without_copies_offers_no_choice(world: World, operator: Client) -> None:
    version = make_version(world, "active", "- Say Ahoy.")
    for page in (operator.get(page_of(version)), withdraw(operator, version, reason="")):
        assert "Other versions with its bullets" not in page_words(page)
        assert "Versions that stay" not in page_words(page)
