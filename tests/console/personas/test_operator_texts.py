"""Overlays, identity cards and rules on their pages, with the prompt they lead to."""

import pytest
from django.test import Client
from django.urls import reverse

from apps.governance.database.actor_transaction import acting_as
from apps.personas.models import IdentityCard, PersonaOverlay, StandingRule
from tests.support.drivers.console_client import decide, list_of, page_of, page_text, page_words, save_form
from tests.support.worlds.world import World, make_identity_card, make_persona, make_rule


def test_overlay_is_added_previewed_and_cleared(world: World, operator: Client) -> None:
    # R035
    make_persona(world)
    path = reverse("admin:personas_personaoverlay_add")
    save_form(operator, path, agent=world.agent.pk, text="Speak formally to banks.")
    with acting_as(world.operator):
        overlay = PersonaOverlay.objects.get()
    page = page_words(operator.get(page_of(overlay)))
    preview = page.partition("Slot 1 as the next session carries it")[2].partition("History")[0]
    assert preview.index("You are Ada") < preview.index("Speak formally to banks.")
    save_form(operator, page_of(overlay), text="")
    page = page_words(operator.get(page_of(overlay)))
    assert "The overlay is cleared: the agent speaks by its persona alone." in page
    assert "(cleared)" in page_words(operator.get(list_of(PersonaOverlay)))


def test_identity_card_is_added_and_previewed(world: World, operator: Client) -> None:
    # R186
    path = reverse("admin:personas_identitycard_add")
    save_form(operator, path, agent=world.agent.pk, business_name="Acme & Sons", assigned_name="Grace", locale="en-GB")
    with acting_as(world.operator):
        card = IdentityCard.objects.get()
    preview = page_words(operator.get(page_of(card))).partition("Slot 1 as the next session carries it")[2]
    assert "Acme & Sons" in preview.partition("History")[0]


def test_card_of_a_line_leaves_the_prompt_alone(world: World, operator: Client) -> None:
    # R187
    own, sales = make_identity_card(world), make_identity_card(world, line_key="sales", assigned_name="Alan Turing")
    page = page_words(operator.get(page_of(sales)))
    assert "This card is for line sales alone." in page
    assert "Slot 1 as the next session carries it" not in page
    assert "Alan Turing" not in page_words(operator.get(page_of(own)))
    listed = page_words(operator.get(list_of(IdentityCard)))
    assert "(the agent's own)" in listed


def test_card_says_at_its_field_what_is_wrong(world: World, operator: Client) -> None:
    card = make_identity_card(world)
    response = save_form(operator, page_of(card), timezone="Madrid", hours="Kept words")
    assert "There is no time zone" in page_text(response)
    assert "Kept words" in page_text(response)


def test_rules_are_listed_in_the_order_of_the_prompt(world: World, operator: Client) -> None:
    # R052, R053, R188
    make_rule(world, "Of the agent.")
    path = reverse("admin:personas_standingrule_add")
    save_form(operator, path, text="Of the organisation.", position="3")
    save_form(operator, path, text="First of all.", position="1", agent="")
    listed = page_words(operator.get(list_of(StandingRule)))
    texts = ["First of all.", "Of the organisation.", "Of the agent."]
    assert sorted(texts, key=listed.index) == texts
    assert "the organisation" in listed


@pytest.mark.slow
def test_rule_is_previewed_retired_and_restored(world: World, operator: Client) -> None:
    # R052
    rule, own = make_rule(world, "Never promise a date.", of_agent=False), make_rule(world, "Sign as Grace.")
    page = page_words(operator.get(page_of(rule)))
    preview = page.partition("The rules as the next session carries them")[2].partition("History")[0]
    assert "## Organisation rules" in preview
    assert preview.index("Never promise a date.") < preview.index("Sign as Grace.")
    assert "The active rules of the organisation have 21 characters together; at most 8000 reach the model." in page
    decide(operator, rule, "retire", reason="Out of date.")
    page = page_words(operator.get(page_of(own)))
    assert "Never promise a date." not in page.partition("The rules as the next session carries them")[2]
    decide(operator, rule, "restore")
    with acting_as(world.operator):
        assert StandingRule.objects.get(pk=rule.pk).status == StandingRule.Status.ACTIVE


def test_too_many_rules_are_said(world: World, operator: Client) -> None:
    rules = [make_rule(world, "x" * 2_000, of_agent=False) for _ in range(5)]
    page = page_text(operator.get(page_of(rules[0])))
    assert "have 10000 characters together; at most 8000 reach the model." in " ".join(page.split())
    assert "pc-note-bad" in page


def test_without_an_agent_that_learns_there_is_no_preview_of_rules(world: World, admin: Client) -> None:
    rule = make_rule(world, of_agent=False)
    save_form(admin, page_of(world.agent), has_learning="")
    assert "The rules as the next session carries them" not in page_text(admin.get(page_of(rule)))
