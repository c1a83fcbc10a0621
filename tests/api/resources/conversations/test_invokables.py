"""Who may ask whom, and what agents asked each other, by REST."""

import pytest

from apps.governance.database.actor_transaction import acting_as
from apps.tenants.models import InvokableAgent
from tests.support.drivers.rest_client import RestClient
from tests.support.factories.delegations import make_asking_conversation, make_question
from tests.support.worlds.world import World, make_neighbour

pytestmark = pytest.mark.django_db


def test_people_decide_who_may_ask_whom_and_agents_do_not(world: World, operator: RestClient, bot: RestClient) -> None:
    # R057
    make_neighbour(world, "billing")
    body = {"agent_key": "support", "callee_key": "billing", "role_hint": "Knows invoices.", "budget_micro_usd": 5_000}
    assert bot.post("invokables/", body).status == 403
    made = operator.post("invokables/", body)
    assert (made.status, made.body["callee_key"], made.body["budget_micro_usd"]) == (201, "billing", 5_000)
    address = f"invokables/{made.body['id']}/"
    assert operator.post("invokables/", body).code == "conflict"
    assert operator.post("invokables/", body | {"callee_key": "support"}).code == "invalid"
    changed = operator.ask("PATCH", address, {"budget_micro_usd": None, "version": 1})
    assert (changed.body["budget_micro_usd"], changed.body["role_hint"]) == (None, "Knows invoices.")
    assert operator.ask("PUT", address, {"role_hint": "Late fees."}).status == 400
    whole = operator.ask("PUT", address, {"role_hint": "Late fees.", "budget_micro_usd": 7})
    assert (whole.body["role_hint"], whole.body["budget_micro_usd"]) == ("Late fees.", 7)
    assert bot.ask("DELETE", address).status == 403
    assert operator.ask("DELETE", address).status == 204
    with acting_as(world.operator):
        assert not InvokableAgent.objects.visible_to(world.operator).exists()


def test_a_conversation_says_who_asked_in_it(world: World, operator: RestClient, bot: RestClient) -> None:
    # R054
    parent = make_asking_conversation(world)
    child = make_question(world, parent)
    assert operator.get(f"conversations/{parent.pk}/").body["parent_id"] is None
    [listed] = operator.get(f"conversations/?parent_id={parent.pk}").body["results"]
    assert (listed["id"], listed["agent_key"], listed["parent_id"], listed["hops"]) == (
        child.pk,
        "billing",
        parent.pk,
        1,
    )
    assert bot.get(f"conversations/{child.pk}/").status == 404, "it is another agent's"
