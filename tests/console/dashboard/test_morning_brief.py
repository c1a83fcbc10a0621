"""The morning brief: what was learned since, who signed it, and where it is taken back."""

from datetime import timedelta
from typing import Any

import psycopg
import pytest
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from apps.console.dashboard.morning_brief import lines_changed
from apps.launcher.postgres import Postgres
from apps.learning.lessons.actions import withdraw_version
from apps.memory.actions import amend_memory
from apps.personas.actions import amend_persona
from apps.prompt.text_reuse.derived_lines import ReceivedTexts
from apps.skills.actions import deprecate_skill
from apps.skills.quarantine import quarantine_skill
from tests.console.dashboard.test_home import HOME, page_context
from tests.support.database.committing_fixture import committing
from tests.support.drivers.console_client import page_of, page_text, page_words, signed_in
from tests.support.factories.lessons import make_version
from tests.support.factories.memory_tiers import make_tier
from tests.support.worlds.filled_world import refuse_once
from tests.support.worlds.world import World, make_memory, make_persona, make_rule, make_skill, make_world

__all__ = ["committing"]


def brief_sections(client: Client, query: str = "") -> dict[str, Any]:
    """What each topic tells."""
    return {section.topic.title: section for section in page_context(client, f"{HOME}{query}")["home"].brief.sections}


def test_lines_that_came_and_went_are_counted_by_their_words() -> None:
    assert lines_changed("- a\n- b\n- b", "- b\n\n- c\n- a") == (1, 1)
    assert lines_changed("", "") == (0, 0)


@pytest.mark.slow
def test_every_line_says_who_signed_and_leads_to_the_change_and_its_reversal(world: World, operator: Client) -> None:
    skill = make_skill(world, "approved")
    persona = make_persona(world)
    amend_persona(persona, actor=world.operator, values={"style": "Short sentences."})
    memory = make_memory(world, "Most customers are in the EU.")
    amend_memory(memory, actor=world.operator, body="Parcels take two days.\nReturns take five.", read_at=1)
    tier, version = make_tier(world, "One.", "Two."), make_version(world, "active")
    lines_by_title = {title: section.lines for title, section in brief_sections(operator).items()}
    assert [(line.did, line.added, line.dropped) for line in lines_by_title["Memory"]] == [
        ("changed", 2, 1),
        ("changed", 1, 0),
    ]
    assert [(line.did, line.added, line.dropped) for line in lines_by_title["Distilled memory"]] == [
        ("distilled", 2, 0)
    ]
    assert [line.did for line in lines_by_title["Rules and personas"]] == ["changed", "created"]
    assert lines_by_title["Skills"][0].undo_url == page_of(skill)
    assert lines_by_title["Learning versions"][0].undo_url == page_of(version)
    assert lines_by_title["Distilled memory"][0].subject_url == page_of(tier)
    page = page_text(operator.get(HOME))
    assert world.operator_user.username in page
    assert "Memory of agent support" in page
    for lines in lines_by_title.values():
        for line in lines:
            assert line.url in page
            for url in (line.url, line.subject_url, line.undo_url):
                assert operator.get(url).status_code == 200, url
    back = page_words(operator.get(lines_by_title["Memory"][0].undo_url))
    assert "Most customers are in the EU." in back


def test_home_opens_after_a_version_was_withdrawn(world: World, operator: Client) -> None:
    version = make_version(world, "active")
    withdraw_version(version, actor=world.operator, reason="It is wrong.")
    assert brief_sections(operator)["Learning versions"].lines[0].did == "withdrawn"


@pytest.mark.slow
def test_brief_lists_repeated_customers_quarantines_and_refusals(world: World, operator: Client) -> None:
    skill = make_skill(world, "approved")
    quarantine_skill(skill, actor=world.operator, reason="Copied from a customer.")
    refuse_once(make_skill(world), world)
    found = page_context(operator, HOME)["home"].brief
    [refused] = found.refused
    assert (refused.code, refused.count) == ("not_permitted", 1)
    assert "Not permitted 1 time" in page_words(operator.get(HOME))
    assert page_context(operator, refused.url)["cl"].result_count == 1
    assert [line.did for line in brief_sections(operator)["Held apart"].lines] == ["put in quarantine"]
    text = "The parcel was left with the neighbour in the yellow house."
    amend_memory(make_memory(world), actor=world.bot, body=text, heard=ReceivedTexts((text,)))
    memory = brief_sections(operator)["Memory"]
    assert (memory.count, memory.derived) == (2, 1)
    assert page_context(operator, memory.derived_url)["cl"].result_count == 1


def test_a_topic_shows_its_latest_and_leads_to_all_of_them(world: World, operator: Client) -> None:
    rules = [make_rule(world, f"Rule {number}.") for number in range(7)]
    section = brief_sections(operator)["Rules and personas"]
    assert (section.count, len(section.lines)) == (7, 5)
    assert section.lines[0].record.subject_id == rules[-1].pk
    listed = page_context(operator, section.url)["cl"]
    assert listed.result_count == 7
    assert "Only from" in page_words(operator.get(section.url))
    assert listed.period.url == "?" + "act__in=" + "%2C".join(section.topic.acts)


def test_nothing_to_tell_is_said(operator: Client) -> None:
    page = page_words(operator.get(f"{HOME}?range=nonsense"))
    assert "No skill was approved, revised or retired." in page
    assert "Nothing was refused." in page
    assert "Spend today: $0.0000 no budget, 0 model calls." in page


@pytest.mark.slow
@pytest.mark.unmeasured
def test_the_range_in_the_address_says_how_far_back(committing: str, postgres: Postgres, settings: Settings) -> None:
    settings.WHITENOISE_AUTOREFRESH = True
    world = make_world()
    old, new = make_skill(world, "approved"), make_skill(world, "approved")
    deprecate_skill(new, actor=world.operator, reason="Nobody asks.")
    with psycopg.connect(postgres.url_for("postgres", database=committing), autocommit=True) as superuser:
        superuser.execute("SET session_replication_role = replica")
        superuser.execute(
            "UPDATE governance_changerecord SET created_at = %s WHERE subject_type = 'skills.skill' AND subject_id = %s",
            [timezone.now() - timedelta(days=3), old.pk],
        )
    client = signed_in(world.operator_user)
    assert [brief_sections(client, query)["Skills"].count for query in ("", "?range=7d", "?range=30d")] == [2, 3, 3]
