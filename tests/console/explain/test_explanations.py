"""The page that answers why an agent said something."""

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from apps.desk.models import Draft
from apps.governance.database.actor_transaction import acting_as
from apps.launcher.postgres import Postgres
from apps.personas.models import StandingRule
from apps.runtime.models import Turn
from apps.runtime.turns.operator_replies import send_reviewed_draft
from apps.tenants.actions import amend_agent
from tests.governance.audit.test_row_history import erase_change
from tests.support.database.committing_fixture import committing
from tests.support.drivers.console_client import page_of, page_text, page_words, signed_in
from tests.support.drivers.conversation import reply, run_customer_turn, run_turn
from tests.support.factories.explained_replies import (
    QUESTION,
    REPLY_TEXT,
    RULE,
    ExplainedReply,
    ask_question,
    explain,
    make_prompt_context,
)
from tests.support.factories.lessons import make_version
from tests.support.factories.member_talks import make_assistant, make_talk, message_assistant
from tests.support.servers.standin_model import StandIn, standin, standing_in
from tests.support.worlds.world import World, make_world

__all__ = ["committing", "standin", "standing_in"]
ERASED = "These words were erased since."


@pytest.fixture
def explained(world: World, standin: StandIn) -> ExplainedReply:
    make_prompt_context(world)
    make_version(world, "active", "- A courier collection next morning is free.")
    return explain(world, standin)


def explanation_url(turn: Turn) -> str:
    return reverse("admin:reply_explanation", args=[turn.pk])


def explanation_text(client: Client, turn: Turn) -> str:
    page = client.get(explanation_url(turn))
    assert page.status_code == 200
    return page_words(page)


def test_each_reply_of_the_agent_leads_to_its_reasons(explained: ExplainedReply, operator: Client) -> None:
    page = operator.get(page_of(explained.conversation)).content.decode()
    assert page.count(f'href="{explanation_url(explained.turn)}"') == 1


def test_the_page_tells_what_stood_before_the_model_and_who_answers_for_it(
    explained: ExplainedReply, operator: Client
) -> None:
    words = explanation_text(operator, explained.turn)
    name = explained.world.operator_user.username
    assert REPLY_TEXT in words
    assert f"What it answered {QUESTION}" in words
    for slot in (
        "Slot 1: Agent persona",
        "Slot 2: Operating contract",
        "Slot 3: Skills",
        "Slot 5: Customer profile",
        "The user turn",
    ):
        assert slot in words, slot
    assert f"Skill {explained.skill.pk}, body A skill it read {explained.skill.version}" in words
    assert name in words
    assert "Called get_skill" in words
    assert "learning version, row" in words
    assert "1 bullet" in words
    assert "Send mode It is sent at once" in words
    assert "Sent by the agent itself" in words
    assert "stand-in" in words


def test_what_the_reply_repeats_stands_first_and_is_marked_in_both(explained: ExplainedReply, operator: Client) -> None:
    page = page_text(operator.get(explanation_url(explained.turn)))
    repeats = page[page.index('id="repeats"') : page.index('id="stood"')]
    assert "A heuristic, not a proof" in repeats
    for stretch in ("Goods may be returned within 14 days", "courier collection next morning"):
        assert repeats.count(f"<mark>{stretch}</mark>") >= 2, stretch
    # Not by colour alone.
    assert repeats.count("⟦<") == repeats.count("<mark>")
    shares = [int(each.split()[-1]) for each in repeats.split(" %")[:-1] if each.split()[-1].isdigit()]
    assert shares == sorted(shares, reverse=True)
    assert shares[0] > 30


def test_a_skill_that_was_rewritten_since_is_told_in_the_version_that_was_read(
    explained: ExplainedReply, operator: Client
) -> None:
    with acting_as(explained.world.operator):
        rule = StandingRule.objects.visible_to(explained.world.operator).get(text=RULE)
    url = reverse("admin:personas_standingrule_versions", args=[rule.pk])
    assert f'href="{url}#changes"' in page_text(operator.get(explanation_url(explained.turn)))


@pytest.mark.slow
def test_a_draft_says_who_sent_it_and_what_the_agent_had_written(
    world: World, operator: Client, standin: StandIn
) -> None:
    make_prompt_context(world)
    amend_agent(world.agent, actor=world.admin, send_mode="suggest")
    standin.play(reply(REPLY_TEXT))
    turn = run_turn(world, ask_question(world), standin.backend)
    with acting_as(world.operator):
        draft = Draft.objects.visible_to(world.operator).get(turn_id=turn.pk)
    assert explanation_url(turn) in page_text(operator.get(page_of(draft)))
    words = explanation_text(operator, turn)
    assert "Send mode It waits for a person" in words
    assert "nobody: the draft is open" in words
    send_reviewed_draft(
        draft, actor=world.operator, reviewed_sha256=draft.text_sha256, text="Within 14 days, unopened."
    )
    words = explanation_text(operator, turn)
    assert f"Sent by {world.operator_user.username}" in words
    assert "in other words" in words
    assert f"What the agent had written {REPLY_TEXT}" in words
    thread = reverse("admin:conversations_conversation_change", args=[turn.conversation_id])
    assert explanation_url(turn) in page_text(operator.get(thread))


def test_an_observed_turn_says_what_it_would_have_said(world: World, operator: Client, standin: StandIn) -> None:
    make_prompt_context(world)
    amend_agent(world.agent, actor=world.admin, send_mode="observe")
    standin.play(reply(REPLY_TEXT))
    words = explanation_text(operator, run_turn(world, ask_question(world), standin.backend))
    assert REPLY_TEXT in words
    assert "It is only observed" in words
    assert "Sent by nobody" in words


def test_what_was_said_earlier_counts_where_it_is_repeated(world: World, operator: Client, standin: StandIn) -> None:
    standin.play(reply("Noted."), reply("Your parcel PX4711 left the warehouse."))
    run_customer_turn(world, "My parcel PX4711 is lost.", standin)
    words = explanation_text(operator, run_customer_turn(world, "And now?", standin))
    assert "Said earlier: customer" in words
    assert "Said earlier: agent" not in words


@pytest.mark.slow
def test_off_the_record_nothing_is_told(world: World, operator: Client, standin: StandIn) -> None:
    explained = explain(world, standin, off_the_record=True)
    assert operator.get(explanation_url(explained.turn)).status_code == 404
    assert explanation_url(explained.turn) not in page_text(operator.get(page_of(explained.conversation)))


def test_of_a_members_talk_and_of_another_tenant_nothing_is_told(
    explained: ExplainedReply, operator: Client, standin: StandIn
) -> None:
    stranger = signed_in(make_world().operator_user)
    assert stranger.get(explanation_url(explained.turn)).status_code == 404
    aide = make_assistant(explained.world)
    event = message_assistant(make_talk(aide), "What waits?", aide.operator)
    assert operator.get(explanation_url(run_turn(aide, event, standin.backend))).status_code == 404
    assert Client().get(explanation_url(explained.turn)).status_code == 302


def test_words_that_were_erased_since_are_not_shown(committing: str, postgres: Postgres, standin: StandIn) -> None:
    world = make_world()
    explained = explain(world, standin)
    operator = signed_in(world.operator_user)
    assert ERASED not in explanation_text(operator, explained.turn)
    with acting_as(world.operator):
        rule = StandingRule.objects.visible_to(world.operator).get(text=RULE)
    erase_change(postgres, committing, world, rule, 1)
    words = explanation_text(operator, explained.turn)
    assert words.count(ERASED) == 1
    assert "unopened" not in words


@pytest.mark.slow
def test_a_long_conversation_costs_no_more_statements_than_a_short_one(
    world: World, operator: Client, standin: StandIn
) -> None:
    few = statements(operator, run_customer_turn(world, "One", standin))
    make_prompt_context(world)
    for text in ("Two", "Three", "Four"):
        turn = run_customer_turn(world, text, standin)
    assert statements(operator, turn) == few
    assert few <= 24


def statements(client: Client, turn: Turn) -> int:
    with CaptureQueriesContext(connection) as queries:
        assert client.get(explanation_url(turn)).status_code == 200
    control = ("SAVEPOINT", "RELEASE", "ROLLBACK", "SELECT set_config")
    return sum(not query["sql"].startswith(control) for query in queries)
