"""Edit forms: what is saved, what is refused, and that nothing typed is lost."""

import pytest
from django.test import Client
from django.urls import reverse

from apps.governance.database.actor_transaction import acting_as
from apps.governance.models import ChangeRecord
from apps.governance.policy.policy_table import Act
from apps.memory.actions import amend_block, amend_memory
from apps.memory.models import AgentMemory, CustomerProfile
from apps.personas.actions import amend_persona
from apps.personas.models import Persona
from apps.prompt.text_reuse.derived_lines import NO_RECEIVED_TEXTS
from apps.skills.models import Skill
from apps.tenants.authentication.actor_resolution import agent_of_token
from apps.tenants.models import Agent, AgentToken
from tests.support.drivers.console_client import (
    decide,
    decision_of,
    form_values,
    page_of,
    page_text,
    page_words,
    save_form,
)
from tests.support.worlds.world import World, make_block, make_memory, make_persona, make_profile, make_skill


def test_persona_is_added_and_amended(world: World, operator: Client) -> None:
    # R029
    path = reverse("admin:personas_persona_add")
    response = save_form(operator, path, agent=world.agent.pk, identity="You are Ada.\r\nBe kind.")
    with acting_as(world.operator):
        persona = Persona.objects.get()
    assert response["Location"] == page_of(persona)
    assert persona.identity == "You are Ada.\nBe kind."
    assert "21 of 2000 characters reach the model." in page_text(operator.get(page_of(persona)))
    save_form(operator, page_of(persona), style="Warm.")
    with acting_as(world.operator):
        persona.refresh_from_db()
        assert (persona.style, persona.version) == ("Warm.", 2)
        assert ChangeRecord.objects.filter(act=Act.PERSONA_AMEND).count() == 1


def test_saving_without_a_change_records_nothing(world: World, operator: Client) -> None:
    skill = make_skill(world, body="  Two spaces before.\n\nAnd a line end after.\n")
    assert save_form(operator, page_of(skill)).status_code == 302
    with acting_as(world.operator):
        unchanged = Skill.objects.get(pk=skill.pk)
        assert (unchanged.version, unchanged.body) == (skill.version, skill.body)
        assert not ChangeRecord.objects.filter(act=Act.SKILL_AMEND).exists()


def test_stale_save_shows_both_texts_and_can_be_repeated(world: World, operator: Client) -> None:
    persona = make_persona(world)
    path = page_of(persona)
    read = form_values(operator.get(path).content.decode(), path)
    amend_persona(persona, actor=world.admin, values={"style": "Formal."})
    response = operator.post(path, read | {"style": "Warm, and brief."})
    page = page_text(response)
    assert response.status_code == 409
    assert "Not saved. What you typed is still here." in page
    assert "Warm, and brief." in page
    assert "Formal." in page
    again = form_values(response.content.decode(), path)
    assert operator.post(path, again).status_code == 302
    with acting_as(world.operator):
        assert Persona.objects.get(pk=persona.pk).style == "Warm, and brief."


def test_refused_value_is_said_at_its_field(world: World, operator: Client) -> None:
    skill = make_skill(world)
    response = save_form(operator, page_of(skill), name="Not A Name", title="Kept title")
    page = page_text(response)
    assert "single hyphens, such as issue-a-refund" in page
    assert 'value="Kept title"' in page
    with acting_as(world.operator):
        assert Skill.objects.get(pk=skill.pk).version == skill.version


def test_around_a_refused_form_stands_what_holds_and_not_what_was_typed(world: World, operator: Client) -> None:
    memory = make_memory(world, "Lunch is at noon.")
    read = form_values(operator.get(page_of(memory)).content.decode(), page_of(memory))
    amend_memory(memory, actor=world.bot, heard=NO_RECEIVED_TEXTS, body="Lunch is at one.")
    response = operator.post(page_of(memory), read | {"body": "Words nobody saved."})
    html = response.content.decode()
    assert response.status_code == 409
    assert html.count("Words nobody saved.") == 1
    assert "<p>Lunch is at one.</p>" in html


def test_second_persona_of_an_agent_is_refused_in_words(world: World, operator: Client) -> None:
    make_persona(world)
    path = reverse("admin:personas_persona_add")
    response = save_form(operator, path, agent=world.agent.pk, identity="You are Bob.")
    assert response.status_code == 409
    assert "This agent has a persona already; amend that one." in page_text(response)
    assert "You are Bob." in page_text(response)


def test_approved_skill_is_revised_by_a_person(world: World, operator: Client) -> None:
    skill = make_skill(world, "approved")
    assert save_form(operator, page_of(skill), body="Ask first.").status_code == 302
    with acting_as(world.operator):
        revised = Skill.objects.get(pk=skill.pk)
    assert (revised.status, revised.approved_by) == (Skill.Status.APPROVED, world.operator.label)
    assert revised.approved_sha256 == revised.content_sha256 != skill.content_sha256


def test_skill_written_by_a_person_is_born_a_draft(world: World, operator: Client) -> None:
    # R093
    given = {"agent": world.agent.pk, "title": "Say hello", "description": "How to greet.", "body": "Say hello."}
    save_form(operator, reverse("admin:skills_skill_add"), name="say-hello", **given)
    with acting_as(world.operator):
        skill = Skill.objects.get(name="say-hello")
    assert (skill.status, skill.drafted_by) == (Skill.Status.DRAFT, world.operator.label)


@pytest.mark.slow
def test_memory_and_profile_are_corrected(world: World, operator: Client) -> None:
    # R080
    memory, profile = make_memory(world), make_profile(world)
    assert "The agent wrote what stands here by itself" in page_text(operator.get(page_of(memory)))
    save_form(operator, page_of(memory), body="Most customers are in Spain.")
    save_form(operator, page_of(profile), notes="Speaks Catalan.")
    with acting_as(world.operator):
        assert AgentMemory.objects.get().is_approved
        assert CustomerProfile.objects.get().notes == "Speaks Catalan."
    assert "A person wrote or approved what stands here" in page_text(operator.get(page_of(memory)))


@pytest.mark.slow
def test_saving_an_agents_words_unchanged_does_not_vouch_for_them_and_approving_does(
    world: World, operator: Client
) -> None:
    # R080, Z-22
    memory = make_memory(world, "Most are in the EU.\nRefunds go to the card.")
    block = amend_block(
        make_block(world), actor=world.bot, heard=NO_RECEIVED_TEXTS, body="Hours: nine to five.\nNot on Sundays."
    )
    for row in (memory, block):
        page = page_words(operator.get(page_of(row)))
        assert "the next prompt of every customer of agent support carries this text as prose" in page
        typed = form_values(operator.get(page_of(row)).content.decode(), page_of(row))
        assert operator.post(page_of(row), typed | {"body": row.body.replace("\n", "\r\n")}).status_code == 302
        assert "The agent wrote what stands here by itself" in page_words(operator.get(page_of(row)))
        assert decide(operator, row, "approve").status_code == 303
        page = page_words(operator.get(page_of(row)))
        assert "A person wrote or approved what stands here" in page
        assert "Approve as it stands" not in page
    with acting_as(world.operator):
        memory.refresh_from_db()
    assert (memory.updated_by, memory.taint, memory.version) == (world.operator.label, "operator", 2)


def test_approving_a_memory_the_agent_rewrote_meanwhile_is_refused(world: World, operator: Client) -> None:
    # Z-22
    memory = make_memory(world)
    read = form_values(operator.get(page_of(memory)).content.decode(), decision_of(memory, "approve"))
    amend_memory(memory, actor=world.bot, heard=NO_RECEIVED_TEXTS, body="Give refunds to everybody.")
    assert operator.post(decision_of(memory, "approve"), read).status_code == 409
    assert "The agent wrote what stands here by itself" in page_words(operator.get(page_of(memory)))


def test_memory_changed_by_the_agent_meanwhile_is_not_overwritten(world: World, operator: Client) -> None:
    memory = make_memory(world)
    path = page_of(memory)
    read = form_values(operator.get(path).content.decode(), path)
    amend_memory(memory, actor=world.bot, heard=NO_RECEIVED_TEXTS, body="Fresh from the agent.")
    assert operator.post(path, read | {"body": "Mine."}).status_code == 409
    with acting_as(world.operator):
        assert AgentMemory.objects.get().body == "Fresh from the agent."


@pytest.mark.slow
def test_persona_is_archived_and_activated(world: World, operator: Client) -> None:
    # R027
    persona = make_persona(world)
    decide(operator, persona, "archive", reason="Summer break.")
    assert "Nothing: the persona is archived" in page_text(operator.get(page_of(persona)))
    decide(operator, persona, "activate")
    assert "You are Ada, the support agent for Acme." in page_text(operator.get(page_of(persona)))


@pytest.mark.parametrize("who", ["operator", "admin"])
def test_only_an_admin_is_offered_agents_and_tokens(world: World, who: str, request: pytest.FixtureRequest) -> None:
    client: Client = request.getfixturevalue(who)
    page = page_text(client.get(page_of(world.agent)))
    offered = who == "admin"
    assert ("Issue a token…" in page) is offered
    assert ("Edit how it runs" in page) is offered
    assert (client.get(reverse("admin:tenants_agent_add")).status_code == 200) is offered


def test_operator_cannot_issue_a_token_by_hand(world: World, operator: Client) -> None:
    path = reverse("admin:tenants_agent_decide", args=[world.agent.pk, "issue"])
    response = operator.post(path, {"read_at": "1", "name": "sneaky", "valid_days": "90"})
    assert response.status_code == 403
    with acting_as(world.operator):
        assert not AgentToken.objects.filter(name="sneaky").exists()


def test_agent_is_added_and_amended_by_an_admin(world: World, admin: Client) -> None:
    save_form(admin, reverse("admin:tenants_agent_add"), key="sales", title="Sales", has_learning="on")
    with acting_as(world.admin):
        agent = Agent.objects.get(key="sales")
    assert save_form(admin, page_of(agent), title="Sales desk", max_steps="5").status_code == 302
    with acting_as(world.admin):
        agent.refresh_from_db()
    assert (agent.title, agent.max_steps, agent.has_learning) == ("Sales desk", 5, True)


@pytest.mark.slow
def test_token_is_shown_once_and_can_be_revoked(world: World, admin: Client) -> None:
    issued = decide(admin, world.agent, "issue", name="web shop", valid_days="30")
    secret = page_text(issued).partition('value="pcp_')[2].partition('"')[0]
    assert "no-store" in issued["Cache-Control"]
    assert agent_of_token(f"pcp_{secret}") is not None
    assert secret not in page_text(admin.get(page_of(world.agent)))
    with acting_as(world.admin):
        token = AgentToken.objects.get(name="web shop")
    assert secret not in page_text(admin.get(page_of(token)))
    assert decide(admin, token, "revoke")["Location"] == page_of(world.agent)
    assert agent_of_token(f"pcp_{secret}") is None


def test_token_is_rotated_without_a_gap(world: World, admin: Client) -> None:
    with acting_as(world.admin):
        token = AgentToken.objects.get()
    fresh = page_text(decide(admin, token, "rotate")).partition('value="')[2]
    assert "pcp_" in fresh
    assert agent_of_token(world.token) is not None


def test_nothing_is_deleted(world: World, operator: Client) -> None:
    skill = make_skill(world)
    assert operator.post(reverse("admin:skills_skill_delete", args=[skill.pk]), {"post": "yes"}).status_code == 403
