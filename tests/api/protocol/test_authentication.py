"""Who may ask at all."""

import pytest
from django.test import Client

from apps.governance.actors import Role
from apps.tenants.actions import add_member, issue_token, revoke_token, rotate_token
from tests.support.drivers.rest_client import RestClient, bearer, person_client
from tests.support.worlds.world import World, make_persona, make_skill, make_world


@pytest.mark.parametrize(
    "header", ["", "Bearer", "Bearer pcp_unknown", "Bearer a b", "Basic dXNlcjpwYXNz", "Bearer \u00e9", "pcp_x"]
)
def test_request_that_names_nobody_is_asked_for_a_token(world: World, header: str) -> None:
    asker = RestClient(Client(headers={"Authorization": header} if header else {}))
    answer = asker.get("skills/")
    assert answer.status == 401
    assert answer.headers["WWW-Authenticate"].startswith("Bearer")
    assert answer.headers["Content-Type"] == "application/problem+json"
    assert answer.code in {"not_authenticated", "authentication_failed"}


@pytest.mark.parametrize("scheme", ["Bearer", "bearer", "Token"])
def test_agent_is_known_by_its_token(world: World, scheme: str) -> None:
    asker = RestClient(Client(headers={"Authorization": f"{scheme} {world.token}"}))
    answer = asker.get("agents/")
    assert answer.status == 200
    assert [row["agent_key"] for row in answer.body["results"]] == [world.agent.key]


def test_revoked_token_stops_at_the_next_request(world: World) -> None:
    issued = issue_token(world.agent, actor=world.admin, name="second")
    assert bearer(issued.secret).get("skills/").status == 200
    revoke_token(issued.row, actor=world.admin)
    assert bearer(issued.secret).get("skills/").code == "authentication_failed"


def test_expired_token_is_refused(committing: str) -> None:
    world = make_world()
    issued = issue_token(world.agent, actor=world.admin, name="second")
    assert bearer(issued.secret).get("skills/").status == 200
    rotate_token(issued.row, actor=world.admin, grace_hours=0)
    assert bearer(issued.secret).get("skills/").status == 401


def test_wrong_token_does_not_fall_back_to_the_session(world: World) -> None:
    asker = person_client(world.operator_user)
    assert asker.get("skills/").status == 200
    assert asker.get("skills/", Authorization="Bearer pcp_wrong").status == 401


def test_service_user_cannot_use_a_session(world: World) -> None:
    # R016: an agent comes by its token, which can name nobody but the agent.
    assert person_client(world.agent.service_user).get("skills/").status == 401


def test_person_without_membership_is_told_whom_to_ask(world: World, django_user_model: type) -> None:
    stranger = django_user_model.objects.create_user(username="stranger", password="x" * 20)  # type: ignore[attr-defined]  # its manager
    answer = person_client(stranger).get("skills/")
    assert (answer.status, answer.code) == (403, "permission_denied")


def test_member_of_several_tenants_names_one(world: World, other: World) -> None:
    add_member(world.operator_user, actor=other.system, role=Role.OPERATOR)
    make_skill(world, title="Of the first")
    make_skill(other, title="Of the second")
    asker = person_client(world.operator_user)
    assert asker.get("skills/").status == 403
    answer = asker.get("skills/", X_Preceptor_Tenant=other.tenant.key)
    assert [row["title"] for row in answer.body["results"]] == ["Of the second"]


@pytest.mark.parametrize("key", ["nobody", "Ä", "\x00", "a\x00b"])
def test_tenant_that_is_not_mine_reads_the_same_as_none(world: World, other: World, key: str) -> None:
    asker = person_client(world.operator_user)
    assert asker.get("skills/", X_Preceptor_Tenant=key).status == 403
    assert asker.get("skills/", X_Preceptor_Tenant=other.tenant.key).status == 403


def test_agent_cannot_choose_another_tenant_by_header(world: World, other: World, bot: RestClient) -> None:
    make_skill(other)
    assert bot.get("skills/", X_Preceptor_Tenant=other.tenant.key).body["results"] == []


def test_session_writes_only_with_the_csrf_token(world: World) -> None:
    persona = make_persona(world)
    asker = person_client(world.operator_user, enforce_csrf_checks=True)
    refused = asker.patch(f"personas/{persona.pk}/", {"style": "Brief."})
    assert (refused.status, refused.code) == (403, "csrf_failed")
    assert asker.get(f"personas/{persona.pk}/").body["style"] == "Warm and concise."
    token = "a" * 32
    asker.client.cookies["csrftoken"] = token
    allowed = asker.patch(f"personas/{persona.pk}/", {"style": "Brief."}, X_CSRFToken=token)
    assert (allowed.status, allowed.body["style"]) == (200, "Brief.")


def test_token_needs_no_csrf(world: World) -> None:
    client = Client(enforce_csrf_checks=True, headers={"Authorization": f"Bearer {world.token}"})
    assert RestClient(client).post("memories/", {"body": "Most customers are in the EU."}).status == 201
