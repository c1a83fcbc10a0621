"""Members and their limits by REST as in the console: decided on by admins, read by people, and no agent's business."""

from typing import Any

import pytest
from django.test import Client

from apps.governance.actors import Role
from apps.governance.database.actor_transaction import acting_as
from apps.governance.models import ChangeRecord
from apps.governance.policy.policy_table import Act
from apps.tenants.actions import add_member
from apps.tenants.authentication.actor_resolution import memberships_of
from apps.tenants.models import Membership, User
from tests.support.drivers.rest_client import RestClient, person_client
from tests.support.worlds.world import World, make_member, make_neighbour, make_skill, make_world, member_of

ADA = {"email": "ada@example.org", "role": "operator"}


def follow(link: str) -> int:
    """What a fresh browser gets that presses the button of a link."""
    return Client().post(f"/admin/{link.partition('/admin/')[2]}").status_code


@pytest.fixture
def kim(world: World) -> Membership:
    """A member who is neither the operator nor the admin who asks."""
    return make_member(world)


def test_an_invited_person_comes_in_by_the_link_of_one_answer(
    world: World, admin: RestClient, operator: RestClient
) -> None:
    once, again = (admin.post("members/", ADA, Idempotency_Key="k-1") for _ in range(2))
    assert (once.status, once.headers["Cache-Control"]) == (201, "private, no-store")
    assert (once.body["username"], once.body["role"], once.body["is_pending"]) == (ADA["email"], "operator", True)
    assert (again.body["id"], again.headers["Idempotent-Replayed"], "link" in again.body) == (
        once.body["id"],
        "true",
        False,
    )
    assert "link" not in operator.get(f"members/{once.body['id']}/").body
    assert (follow(once.body["link"]), follow(once.body["link"])) == (303, 410)
    assert memberships_of(User.objects.get(username=ADA["email"]).pk) == [(world.tenant.pk, Role.OPERATOR)]
    assert admin.get(f"members/{once.body['id']}/").body["is_pending"] is False
    assert admin.post("members/", ADA).code == "conflict"


def test_a_person_with_a_verified_address_needs_no_link(admin: RestClient) -> None:
    theirs = make_world().admin_user
    assert admin.post("members/", {"email": theirs.username, "role": "operator"}).body["link"] == ""


def test_only_admins_decide_on_members(
    admin: RestClient, operator: RestClient, bot: RestClient, kim: Membership
) -> None:
    path = f"members/{kim.pk}/"
    for asker in (operator, bot):
        assert asker.post("members/", ADA).code == "not_permitted"
        assert asker.patch(path, {"role": "admin"}).code == asker.patch(path, {}).code == "not_permitted"
        for verb in ("reset", "deactivate", "reactivate"):
            assert asker.post(f"{path}{verb}/", {}).code == "not_permitted"
    assert operator.get(path).body["role"] == admin.get(path).body["role"] == "operator"
    assert bot.get(path).code == bot.get("members/").code == "not_permitted"


def test_a_member_is_changed_as_it_was_read(world: World, admin: RestClient, kim: Membership) -> None:
    path = f"members/{kim.pk}/"
    read = admin.get(path)
    changed = admin.patch(path, {"role": "admin", "reason": "Runs it now."}, If_Match=read.headers["ETag"])
    assert (changed.status, changed.body["role"]) == (200, "admin")
    assert admin.patch(path, {"role": "operator"}, If_Match=read.headers["ETag"]).status == 412
    late = admin.post(f"{path}deactivate/", {"version": read.body["version"]})
    assert (late.status, late.code, late.body["current_version"]) == (409, "stale", changed.body["version"])
    put = admin.put(path, {**changed.body, "role": "operator"})
    assert (put.status, put.body["role"]) == (200, "operator")
    with acting_as(world.admin):
        [record] = ChangeRecord.objects.filter(act=Act.MEMBER_CHANGE_ROLE, text__reason="Runs it now.")
        assert record.subject_id == kim.pk


def test_a_deactivated_member_is_nobody_until_they_are_let_in_again(admin: RestClient, kim: Membership) -> None:
    theirs, path = person_client(kim.user), f"members/{kim.pk}/"
    assert theirs.get("members/").status == 200
    assert admin.post(f"{path}deactivate/", {"reason": "Left us."}).body["is_active"] is False
    assert theirs.get("members/").status in {401, 403}
    assert admin.get("members/?is_active=false").body["results"] == [admin.get(path).body]
    back = admin.post(f"{path}reactivate/", {})
    assert (back.status, back.body["is_active"], back.body["role"]) == (200, True, "operator")


def test_a_reset_ends_what_they_had_and_tells_a_link_once(admin: RestClient, kim: Membership) -> None:
    theirs, path = person_client(kim.user), f"members/{kim.pk}/reset/"
    once, again = (admin.post(path, {"reason": "Lost it."}, Idempotency_Key="k-2") for _ in range(2))
    assert (once.status, "link" in again.body) == (200, False)
    assert theirs.get("members/").status in {401, 403}
    assert follow(once.body["link"]) == 303


def test_nobody_decides_on_themselves_and_wider_accounts_stay(world: World, admin: RestClient, kim: Membership) -> None:
    mine = f"members/{member_of(world, world.admin_user).pk}/"
    assert admin.post(f"{mine}deactivate/", {}).code == admin.patch(mine, {"role": "operator"}).code == "conflict"
    add_member(kim.user, actor=make_world().admin, role=Role.ADMIN)
    assert admin.post(f"members/{kim.pk}/reset/", {}).code == "conflict"


@pytest.mark.parametrize(
    ("sent", "field"),
    [
        ({"email": "nobody"}, "email"),
        ({"email": f"{'a' * 150}@example.org"}, "email"),
        ({"email": 7}, "email"),
        ({"role": "agent"}, "role"),
        ({"role": "owner"}, "role"),
        ({"colour": "red"}, "colour"),
    ],
)
def test_who_cannot_be_let_in_is_refused_by_the_field(admin: RestClient, sent: dict[str, Any], field: str) -> None:
    refused = admin.post("members/", {**ADA, **sent})
    assert (refused.status, refused.code, list(refused.body["errors"])) == (400, "invalid", [field])


@pytest.mark.slow
def test_a_limit_holds_from_the_next_request_until_it_is_lifted(
    world: World, admin: RestClient, kim: Membership
) -> None:
    theirs, other = person_client(kim.user), make_neighbour(world)
    keep = f"skills/{make_skill(world, status='approved').pk}/retain/"
    asked = {"member_id": kim.pk, "limited_act": "skill.retain", "agent_ids": [other.pk]}
    made = admin.post("limits/", asked)
    assert (made.status, {name: made.body[name] for name in asked}) == (201, asked)
    assert theirs.post(keep, {"reason": "Rare."}).code == "not_permitted"
    path = f"limits/{made.body['id']}/"
    assert admin.get(f"limits/?member_id={kim.pk}&limited_act=skill.retain").body["results"] == [admin.get(path).body]
    wider = admin.patch(path, {"agent_ids": [world.agent.pk, other.pk], "version": made.body["version"]})
    assert wider.body["agent_ids"] == sorted([world.agent.pk, other.pk])
    assert theirs.post(keep, {"reason": "Rare."}).status == 200
    assert admin.patch(path, {"agent_ids": [], "version": made.body["version"]}).code == "stale"
    assert admin.patch(path, {"agent_ids": []}).body["agent_ids"] == []
    assert theirs.post(keep, {"reason": "Rare."}).code == "not_permitted"
    assert len(admin.get(f"{path}versions/").body["results"]) == 3
    assert (admin.delete(path).status, admin.get(path).status) == (204, 404)
    assert theirs.post(keep, {"reason": "Rare."}).status == 200


@pytest.mark.parametrize(
    ("sent", "field"),
    [
        ({"limited_act": "grant.write"}, "limited_act"),
        ({"limited_act": "no.act"}, "limited_act"),
        ({"agent_ids": [999_999]}, "agent_ids"),
        ({"agent_ids": "all"}, "agent_ids"),
        ({"agent_ids": None}, "agent_ids"),
        ({"member_id": 999_999}, "member_id"),
    ],
)
def test_a_limit_that_cannot_be_is_refused_by_its_field(
    admin: RestClient, kim: Membership, sent: dict[str, Any], field: str
) -> None:
    refused = admin.post("limits/", {"member_id": kim.pk, "limited_act": "skill.retain", "agent_ids": [], **sent})
    assert (refused.status, refused.code, list(refused.body["errors"])) == (400, "invalid", [field])


def test_members_of_another_tenant_and_their_agents_are_nobodys(admin: RestClient, kim: Membership) -> None:
    theirs = make_world()
    stranger = make_member(theirs)
    asked = {"member_id": stranger.pk, "limited_act": "skill.retain", "agent_ids": []}
    assert list(admin.post("limits/", asked).body["errors"]) == ["member_id"]
    asked = {"member_id": kim.pk, "limited_act": "skill.retain", "agent_ids": [theirs.agent.pk]}
    assert list(admin.post("limits/", asked).body["errors"]) == ["agent_ids"]


def test_neither_operators_nor_agents_write_limits(
    admin: RestClient, operator: RestClient, bot: RestClient, kim: Membership
) -> None:
    asked = {"member_id": kim.pk, "limited_act": "skill.retain", "agent_ids": []}
    path = f"limits/{admin.post('limits/', asked).body['id']}/"
    for asker in (operator, bot):
        assert asker.post("limits/", asked).code == asker.patch(path, {"agent_ids": []}).code == "not_permitted"
        assert asker.delete(path).code == "not_permitted"
    assert operator.get(path).status == 200
    assert bot.get(path).code == bot.get("limits/").code == "not_permitted"
