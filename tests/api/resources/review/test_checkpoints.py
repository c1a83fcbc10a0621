"""Checkpoints and the way back to them by REST: people only, a plan first, then a yes to exactly that."""

from typing import Any

import pytest

from apps.governance.database.actor_transaction import acting_as
from apps.governance.models import ChangeRecord
from apps.governance.policy.policy_table import Act
from apps.memory.actions import amend_profile
from apps.personas.actions import amend_persona
from tests.support.drivers.rest_client import RestClient, person_client
from tests.support.worlds.world import World, make_limit, make_neighbour, make_persona, make_profile, make_world


def test_a_moment_gets_a_name_once(world: World, operator: RestClient, bot: RestClient) -> None:
    asked = {"name": "Before the sale", "agent_key": world.agent.key, "reason": "It begins."}
    made, again = (operator.post("checkpoints/", asked, Idempotency_Key="k") for _ in range(2))
    assert (made.status, {name: made.body[name] for name in asked}) == (201, asked)
    assert made.body["created_by"] == f"operator:{world.operator_user.pk}"
    assert (again.body, again.headers["Idempotent-Replayed"]) == (made.body, "true")
    whole = operator.post("checkpoints/", {"name": "All", "moment": "2026-01-01T09:00:00Z"}).body
    assert (whole["agent_key"], whole["moment"]) == (None, "2026-01-01T09:00:00Z")
    listed = operator.get("checkpoints/?search=sale").body["results"]
    assert listed == operator.get(f"checkpoints/?agent_key={world.agent.key}").body["results"]
    assert listed == [operator.get(f"checkpoints/{made.body['id']}/").body]
    for path in ("checkpoints/", f"checkpoints/{made.body['id']}/", f"checkpoints/{made.body['id']}/restore/"):
        assert bot.get(path).code == "not_permitted"
    assert bot.post("checkpoints/", {"name": "Mine"}).code == bot.post("checkpoints/", {}).code == "not_permitted"
    with acting_as(world.operator):
        assert ChangeRecord.objects.filter(act=Act.CHECKPOINT_CREATE).count() == 2


@pytest.mark.parametrize(
    ("sent", "field"),
    [
        ({"name": ""}, "name"),
        ({"name": "x" * 121}, "name"),
        ({"agent_key": "nobody"}, "agent_key"),
        ({"moment": "2999-01-01T00:00:00Z"}, "moment"),
        ({"moment": "yesterday"}, "moment"),
        ({"colour": "red"}, "colour"),
    ],
)
def test_a_checkpoint_that_cannot_be_is_refused_by_its_field(
    operator: RestClient, sent: dict[str, Any], field: str
) -> None:
    refused = operator.post("checkpoints/", {"name": "Now", **sent})
    assert (refused.status, refused.code, list(refused.body["errors"])) == (400, "invalid", [field])


@pytest.mark.slow
def test_an_agent_comes_back_to_a_checkpoint_with_a_way_back(
    world: World, operator: RestClient, bot: RestClient
) -> None:
    persona, other = make_persona(world), make_neighbour(world)
    persona = amend_persona(persona, actor=world.operator, values={"style": "Warm."})
    made = operator.post("checkpoints/", {"name": "Warm", "agent_key": world.agent.key}).body
    path = f"checkpoints/{made['id']}/restore/"
    amend_persona(persona, actor=world.operator, values={"style": "Cold."})
    operator.patch(f"agents/{other.pk}/", {"title": "Not of this plan"})
    plan = operator.get(path).body
    steps = [(step["act"], step["key"], step["after"]) for step in plan["steps"]]
    assert steps == [("persona.amend", f"personas.persona:{persona.pk}", {"style": "Warm."})]
    yes = {"plan_sha256": plan["sha256"], "reason": "The sale is over."}
    assert bot.post(path, yes).code == "not_permitted"
    amend_persona(persona, actor=world.operator, values={"style": "Colder."})
    moved = operator.post(path, yes)
    assert (moved.status, moved.code) == (409, "stale_plan")
    yes["plan_sha256"] = operator.get(path).body["sha256"]
    unknown = operator.post(path, {**yes, "only": ["personas.persona:999999"]})
    assert (unknown.code, list(unknown.body["errors"])) == ("invalid", ["only"])
    done = operator.post(path, {**yes, "only": [steps[0][1]]})
    assert (done.status, len(done.body["steps"])) == (200, 1)
    assert operator.get(f"personas/{persona.pk}/").body["style"] == "Warm."
    back = operator.get(f"checkpoints/{done.body['checkpoint_id']}/").body
    assert back["reason"].endswith("was restored. The sale is over.")
    assert operator.post(path, yes).code in {"stale_plan", "conflict"}


@pytest.mark.slow
def test_customers_profiles_come_back_only_where_they_are_asked_for(world: World, admin: RestClient) -> None:
    profile = make_profile(world, notes="Old.")
    made = admin.post("checkpoints/", {"name": "Now"}).body
    amend_profile(profile, actor=world.admin, values={"notes": "New."})
    path = f"checkpoints/{made['id']}/restore/"
    assert admin.get(path).body["steps"] == admin.get(f"{path}?with_profiles=false").body["steps"] == []
    plan = admin.get(f"{path}?with_profiles=true").body
    assert [(step["act"], step["after"]) for step in plan["steps"]] == [("profile.amend", {"notes": "Old."})]
    yes = {"plan_sha256": plan["sha256"]}
    assert admin.post(path, yes).code == "stale_plan"
    assert admin.post(path, {**yes, "with_profiles": True}).status == 200
    assert admin.get(f"profiles/{profile.pk}/").body["notes"] == "Old."
    for query, field in (("with_profiles=yes", "with_profiles"), ("colour=red", "colour")):
        assert list(admin.get(f"{path}?{query}").body["errors"]) == [field]


def test_a_limited_member_names_moments_of_their_agents_alone(world: World, operator: RestClient) -> None:
    make_limit(world, Act.CHECKPOINT_CREATE, agents=[world.agent.pk])
    assert operator.post("checkpoints/", {"name": "Mine", "agent_key": world.agent.key}).status == 201
    assert operator.post("checkpoints/", {"name": "All"}).code == "not_permitted"


def test_a_checkpoint_of_another_tenant_is_none(operator: RestClient) -> None:
    theirs = make_world()
    made = person_client(theirs.operator_user).post("checkpoints/", {"name": "Theirs"}).body
    for path in (f"checkpoints/{made['id']}/", f"checkpoints/{made['id']}/restore/"):
        assert operator.get(path).body == operator.get(path.replace(str(made["id"]), "999999")).body | {
            "instance": f"/api/v1/{path}"
        }
    assert operator.post(f"checkpoints/{made['id']}/restore/", {"plan_sha256": "x"}).status == 404
