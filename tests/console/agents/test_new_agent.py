"""A new agent from a template, and the page that says what is left until it answers customers (R038)."""

from collections.abc import Callable

import pytest
from django.test import Client
from django.urls import reverse

from apps.console.agents.agent_setup import agent_setup_steps
from apps.governance.database.actor_transaction import acting_as
from apps.governance.models import ChangeRecord
from apps.governance.policy.policy_table import Act
from apps.personas.models import Persona
from apps.personas.templates import persona_templates
from apps.tenants.actions import issue_token
from apps.tenants.models import Agent, Tenant
from tests.support.drivers.console_client import form_values, page_of, page_text, page_words
from tests.support.worlds.world import (
    World,
    approve_read_skill,
    make_conversation,
    make_limit,
    make_persona,
    make_skill,
    make_world,
)

pytestmark = pytest.mark.django_db


def path() -> str:
    return reverse("admin:new_agent")


def test_an_agent_and_its_persona_are_made_at_once_in_the_tenants_name(world: World, admin: Client) -> None:
    page = admin.get(path())
    for template in persona_templates():
        assert template.title in page_text(page)
    assert f"sales adviser at {world.tenant.name}" in page_text(page)
    values = form_values(page.content.decode(), path())
    made = admin.post(path(), values | {"template": "sales", "key": "shop-sales", "title": ""})
    with acting_as(world.admin):
        agent = Agent.objects.get(key="shop-sales")
        persona = Persona.objects.get(agent=agent)
        acts = list(ChangeRecord.objects.order_by("-id").values_list("act", flat=True)[:2])
    assert (made.status_code, made["Location"]) == (303, reverse("admin:first_steps", args=[agent.pk]))
    assert (agent.title, acts) == ("Sales", ["persona.create", "agent.create"])
    assert f"sales adviser at {world.tenant.name}" in persona.identity
    steps = page_words(admin.get(made["Location"]))
    assert "Give it a persona done" in steps
    assert "/api/v1/messages/?wait=30" in steps


def test_a_key_that_is_taken_is_said_beside_its_field_and_nothing_is_made(world: World, admin: Client) -> None:
    sent = {"template": "support", "key": world.agent.key, "title": "Second"}
    refused = admin.post(path(), sent)
    assert (refused.status_code, f"An agent has the key {world.agent.key} already." in page_text(refused)) == (
        422,
        True,
    )
    assert 'value="Second"' in page_text(refused), "what was typed stays"
    assert admin.post(path(), sent | {"template": "unheard-of"}).status_code == 422
    bad = admin.post(path(), sent | {"key": "Not a slug!"})
    assert bad.status_code in {400, 409, 422}
    with acting_as(world.admin):
        assert not Persona.objects.exists()
        assert Agent.objects.count() == 1


def test_who_may_give_no_persona_is_told_whom_to_ask_and_offered_no_form(world: World, operator: Client) -> None:
    steps = reverse("admin:first_steps", args=[world.agent.pk])
    form = reverse("admin:personas_persona_add")
    assert form in page_text(operator.get(steps))
    make_limit(world, Act.PERSONA_CREATE)
    page = page_text(operator.get(steps))
    assert form not in page
    assert "You may not do this. Ask an admin of the tenant." in page


def test_operators_read_the_templates_and_make_none(world: World, operator: Client) -> None:
    page = operator.get(path())
    assert "Admins make agents." in page_text(page)
    assert "Make it" not in page_text(page)
    assert operator.post(path(), {"template": "sales"}).status_code == 403
    with acting_as(world.admin):
        assert Agent.objects.count() == 1


def test_each_step_is_done_when_it_was(world: World) -> None:
    def done() -> list[str]:
        with acting_as(world.admin):
            return [step.title for step in agent_setup_steps(world.agent, world.admin) if step.is_done]

    begun = ["Give it a token", "Let somebody decide with you"]
    assert done() == begun
    deeds: list[tuple[str, Callable[[], object]]] = [
        ("Give it a persona", lambda: make_persona(world)),
        ("Send it a customer's message", lambda: make_conversation(world)),
        ("Approve its first runbook", lambda: approve_read_skill(make_skill(world), world.operator)),
    ]
    for title, deed in deeds:
        assert title not in done()
        deed()
        assert title in done()


def test_the_first_steps_of_another_tenants_agent_are_nobodys(world: World, admin: Client) -> None:
    other = make_world()
    issue_token(other.agent, actor=other.admin, name="second")
    assert admin.get(reverse("admin:first_steps", args=[other.agent.pk])).status_code == 404
    own = reverse("admin:first_steps", args=[world.agent.pk])
    assert admin.get(own).status_code == 200
    assert own in page_text(admin.get(page_of(world.agent)))


def test_a_tenant_without_an_agent_is_led_to_the_page(world: World, admin: Client) -> None:
    assert path() not in page_text(admin.get(reverse("admin:index")))
    assert path() in page_text(admin.get(reverse("admin:tenants_agent_changelist")))


def test_a_new_persona_begins_with_a_template_or_with_anothers_words(world: World, operator: Client) -> None:
    # Z-18
    add = reverse("admin:personas_persona_add")
    assert path() in page_text(operator.get(reverse("admin:personas_persona_changelist")))
    assert f"{add}?template=billing-ops" in page_text(operator.get(path()))
    begun = operator.get(add, {"template": "billing-ops"})
    assert f"invoices and payments for {world.tenant.name}" in page_text(begun)
    assert operator.get(add, {"template": "unheard-of"}).status_code == 200
    persona = make_persona(world, identity="You are Ada of the green house.")
    assert f"{add}?clone={persona.pk}" in page_text(operator.get(page_of(persona)))
    assert "Ada of the green house" in page_text(operator.get(add, {"clone": persona.pk}))
    foreign = make_persona(make_world(), identity="You are Eve of the red house.")
    assert "red house" not in page_text(operator.get(add, {"clone": foreign.pk}))
    with acting_as(world.operator):
        assert Tenant.objects.count() == 1
