"""`manage.py seed_personas`: the agents and personas that ship as files, for any tenant."""

import pytest

from apps.governance.database.actor_transaction import acting_as
from apps.personas.actions import amend_persona
from apps.personas.models import SECTION_CHARACTERS, SECTIONS, Persona
from apps.personas.templates import BUSINESS_PLACEHOLDER, persona_templates
from apps.tenants.authentication.actor_resolution import system_actor_of_tenant
from tests.support.drivers.management_command import run_command
from tests.support.worlds.world import make_world

AGENTS = {"support", "sales", "billing-ops", "onboarding", "text-reply", "web-chat", "follow-up-drafter"}


def test_templates_ship_for_every_kind_of_agent() -> None:  # R010, R132
    assert {template.key for template in persona_templates()} == AGENTS
    for template in persona_templates():
        assert BUSINESS_PLACEHOLDER in template.identity
        for text in template.sections("Acme").values():
            assert 0 < len(text) <= SECTION_CHARACTERS
            assert BUSINESS_PLACEHOLDER not in text


@pytest.mark.django_db
def test_new_tenant_gets_an_agent_and_a_persona_for_each_template() -> None:  # R010, R038, R132
    seen = run_command("seed_personas", "--tenant", "globex", "--create-tenant", "Globex & {Sons}")
    system = system_actor_of_tenant("globex")
    assert seen.failure == ""
    assert system is not None
    assert seen.out.count("created") == 1 + 2 * len(AGENTS)
    with acting_as(system):
        personas = {
            persona.agent.key: persona for persona in Persona.objects.visible_to(system).select_related("agent")
        }
        assert set(personas) == AGENTS
        assert "You are Ada, the support agent for Globex & {Sons}." in personas["support"].identity
        assert all(getattr(personas["support"], section) for section in SECTIONS)


@pytest.mark.django_db
def test_seeding_again_keeps_what_an_operator_wrote() -> None:
    world = make_world("initech")
    assert run_command("seed_personas", "--tenant", "initech").failure == ""
    with acting_as(world.operator):
        persona = Persona.objects.visible_to(world.operator).get(agent=world.agent)
        amend_persona(persona, actor=world.operator, values={"identity": "You are Peter."})
    seen = run_command("seed_personas", "--tenant", "initech", "--create-tenant", "Another name")
    assert "created" not in seen.out
    with acting_as(world.operator):
        assert Persona.objects.visible_to(world.operator).get(agent=world.agent).identity == "You are Peter."


@pytest.mark.django_db
def test_only_the_named_templates_are_seeded() -> None:
    seen = run_command(
        "seed_personas", "--tenant", "globex", "--create-tenant", "Globex", "--only", "sales", "web-chat"
    )
    assert "agent web-chat" in seen.out
    assert "agent support" not in seen.out


@pytest.mark.django_db
def test_unknown_names_are_refused_with_what_to_do() -> None:
    assert "seed_personas --tenant nobody --create-tenant" in run_command("seed_personas", "--tenant", "nobody").failure
    unknown = run_command("seed_personas", "--tenant", "globex", "--create-tenant", "Globex", "--only", "poet")
    assert "“poet”" in unknown.failure
    assert "billing-ops" in unknown.failure
    assert system_actor_of_tenant("globex") is None
