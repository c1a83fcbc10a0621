"""Members, their limits, and grants on one agent, as admins and operators meet them in the console."""

import re

import pytest
from django.db import connection
from django.http import HttpResponse
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from apps.governance.actors import Role
from apps.governance.policy.policy_table import Act, codename, default_grants
from apps.tenants.actions import add_member, limit_member
from apps.tenants.authentication.actor_resolution import memberships_of, person_actor
from apps.tenants.models import Membership, User
from tests.support.drivers.console_client import (
    decide,
    decision_of,
    list_of,
    page_of,
    page_text,
    page_words,
    save_form,
    signed_in,
)
from tests.support.worlds.world import (
    World,
    make_grants,
    make_limit,
    make_member,
    make_neighbour,
    make_skill,
    make_world,
    member_of,
)

HOME = reverse("admin:index")
ADA = "ada@example.org"
INVITE = reverse("admin:tenants_membership_add")


def link_in(answer: HttpResponse) -> str:
    """The path of the link on a page that shows one."""
    return answer.content.decode().partition('value="http')[2].partition('"')[0].partition("/admin/")[2]


def test_an_invited_person_comes_in_by_the_link_once_and_sets_a_password(world: World, admin: Client) -> None:
    answer = save_form(admin, INVITE, email="ada@example.org", role="operator")
    assert "no-store" in answer.headers["Cache-Control"]
    path = HOME + link_in(answer)
    guest = Client()
    assert "You come in as ada@example.org" in page_words(guest.get(path))
    assert guest.post(path, follow=True).status_code == 200
    assert guest.get(HOME).status_code == 200
    assert Client().post(path).status_code == 410
    user = User.objects.get(username="ada@example.org")
    assert memberships_of(user.pk) == [(world.tenant.pk, Role.OPERATOR)]


def test_no_link_is_shown_for_somebody_who_is_known_to_own_the_address(world: World, admin: Client) -> None:
    other = make_world()
    page = page_text(save_form(admin, INVITE, email=other.admin_user.username, role="operator"))
    assert "They are known to own this address" in page
    assert "/invitation/" not in page


@pytest.mark.slow
def test_a_link_opens_no_account_that_opens_another_tenant(world: World, admin: Client) -> None:
    # R006: neither is the account's holder let in here without the link, nor the link's holder there.
    accept_in = make_world()
    theirs = Client()
    theirs.post(HOME + link_in(save_form(signed_in(accept_in.admin_user), INVITE, email=ADA, role="operator")))
    path = HOME + link_in(save_form(admin, INVITE, email=ADA, role="admin"))
    guest = Client()
    assert "Sign in to it first" in page_words(guest.get(path))
    assert (guest.post(path).status_code, guest.get(HOME).status_code) == (403, 302)
    assert "You are signed in as" in page_words(admin.get(path))
    assert "waits for its link" in page_words(admin.get(list_of(Membership)))
    assert dict(memberships_of(User.objects.get(username=ADA).pk)) == {accept_in.tenant.pk: Role.OPERATOR}
    assert theirs.post(path, follow=True).status_code == 200
    assert world.tenant.name in page_words(theirs.get(HOME))
    assert theirs.post(path).status_code == 410


def test_a_new_link_ends_the_one_before_it(world: World, admin: Client) -> None:
    first = HOME + link_in(save_form(admin, INVITE, email=ADA, role="operator"))
    member = member_of(world, User.objects.get(username=ADA))
    page = admin.get(page_of(member)).content.decode()
    assert decision_of(member, "reset") not in page
    second = HOME + link_in(decide(admin, member, "link"))
    assert Client().post(first).status_code == 410
    assert Client().post(HOME + "invitation/made-up/").status_code == 410
    assert Client().post(second).status_code == 303


def test_an_invitation_ends_after_three_days(admin: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    path = HOME + link_in(save_form(admin, INVITE, email=ADA, role="operator"))
    monkeypatch.setattr("apps.tenants.accounts.invitations.INVITATION_SECONDS", -1)
    assert Client().post(path).status_code == 410


def test_a_deactivated_member_is_out_at_the_next_request(world: World, admin: Client, operator: Client) -> None:
    assert operator.get(HOME).status_code == 200
    member = member_of(world, world.operator_user)
    answer = decide(admin, member, "deactivate", reason="Left us.")
    assert answer.status_code == 303
    assert operator.get(HOME).status_code == 302
    assert operator.get("/api/v1/members").status_code in {401, 403}
    assert decide(admin, member, "reactivate").status_code == 303


def test_a_reset_member_is_out_and_comes_back_by_the_link(world: World, admin: Client, operator: Client) -> None:
    answer = decide(admin, member_of(world, world.operator_user), "reset")
    assert operator.get(HOME).status_code == 302
    path = HOME + link_in(answer)
    assert Client().post(path, follow=True).status_code == 200


def test_a_member_of_several_tenants_is_not_reset(world: World, admin: Client) -> None:
    add_member(world.operator_user, actor=make_world().admin, role=Role.ADMIN)
    answer = decide(admin, member_of(world, world.operator_user), "reset")
    assert answer.status_code == 409
    assert "opens more than this tenant" in page_text(answer)


def test_the_last_admin_and_oneself_stay(world: World, admin: Client) -> None:
    mine = member_of(world, world.admin_user)
    assert "You cannot change your own membership" in page_text(decide(admin, mine, "deactivate"))
    assert "You cannot change your own membership" in page_text(decide(admin, mine, "role", role="operator"))


def test_operators_read_members_and_decide_nothing(world: World, operator: Client) -> None:
    page = page_text(operator.get(list_of(Membership)))
    assert world.admin_user.username in page
    assert operator.get(INVITE).status_code == 403
    member = make_member(world)
    assert decision_of(member, "deactivate") not in operator.get(page_of(member)).content.decode()
    assert operator.get("/api/v1/members").json()["results"]


@pytest.mark.slow
def test_a_confined_operator_sees_the_button_on_one_agents_skill_only(
    world: World, admin: Client, operator: Client
) -> None:
    # R015, R017
    billing = make_neighbour(world)
    limit = make_limit(world, agents=[world.agent.pk])
    skill = make_skill(world)
    assert decision_of(skill, "approve") in operator.get(page_of(skill)).content.decode()
    limit_member(limit, actor=world.admin, agents=[billing.pk])
    page = operator.get(page_of(skill)).content.decode()
    assert decision_of(skill, "approve") not in page
    assert decision_of(skill, "reject") in page
    answer = operator.post(
        decision_of(skill, "approve"), {"read_at": skill.version, "reviewed_sha256": skill.content_sha256}
    )
    assert answer.status_code == 403
    assert decision_of(skill, "approve") in admin.get(page_of(skill)).content.decode()


def test_an_admin_confines_a_member_on_a_page(world: World, admin: Client) -> None:
    member = member_of(world, world.operator_user)
    answer = admin.post(
        reverse("admin:tenants_memberlimit_add"),
        {"member": member.pk, "limited_act": Act.SKILL_APPROVE.value, "agent_ids": [world.agent.pk], "read_at": ""},
    )
    assert answer.status_code == 302
    actor = person_actor(world.operator_user.pk, world.tenant.pk, Role.OPERATOR)
    assert actor.limits == ((codename(Act.SKILL_APPROVE), frozenset({world.agent.pk})),)
    page = page_words(admin.get(page_of(member)))
    assert "for 1 agent only" in page
    assert world.operator_user.username in page_words(admin.get(page_of(world.agent)))


def test_an_admin_unticks_what_an_agent_may_not_do(world: World, admin: Client) -> None:
    # R015
    grants = make_grants(world, "skill_fetch", role=Role.AGENT)
    page = page_words(admin.get(page_of(grants)))
    assert "May not do here: skill fetch" in page
    kept = sorted(default_grants(Role.AGENT) - {"memory_amend"})
    assert admin.post(page_of(grants), {"permissions": kept, "read_at": grants.version}).status_code == 302
    assert "May not do here: memory amend" in page_words(admin.get(page_of(grants)))


def test_the_grants_of_an_agent_stand_under_their_nouns(world: World, admin: Client) -> None:
    page = admin.get(page_of(make_grants(world, "skill_fetch"))).content.decode()
    groups = {
        group.partition("</legend>")[0]: group.partition("</fieldset>")[0] for group in page.split("<legend>")[1:]
    }
    assert len(groups) > 3
    boxes = {name: group for name, group in groups.items() if 'value="skill_fetch"' in group}
    assert list(boxes) == ["Skill"]
    assert page.count('name="permissions"') == len(default_grants(Role.AGENT))
    ticked = re.findall(r'<input type="checkbox"\s+name="permissions"\s+value="(\w+)"[^>]*\schecked>', page)
    assert set(ticked) == default_grants(Role.AGENT) - {"skill_fetch"}


def test_pages_and_histories_of_rights_name_people_agents_and_rights(world: World, admin: Client) -> None:
    limit = make_limit(world, agents=[world.agent.pk])
    limit_member(limit, actor=world.admin, agents=[])
    grants = make_grants(world, "skill_fetch", role=Role.AGENT)
    for row, words in (
        (member_of(world, world.operator_user), world.operator_user.username),
        (limit, f"{world.operator_user.username}: {limit.limited_act}"),
        (grants, "The agent itself on agent support"),
    ):
        assert words in page_words(admin.get(page_of(row))).partition("History")[0]
    history = page_text(admin.get(page_of(limit))).partition("History")[2]
    assert "agent support" in history
    assert "nowhere" in history
    granted = page_text(admin.get(page_of(grants))).partition("History")[2]
    assert "skill amend: body" in granted
    assert "[" not in granted


def test_a_fresh_row_of_grants_changes_nothing_until_something_is_unticked(world: World, admin: Client) -> None:
    answer = admin.post(
        reverse("admin:tenants_agentgrants_add"), {"agent": world.agent.pk, "role": "operator", "read_at": ""}
    )
    assert answer.status_code == 302
    assert "Nothing is withheld" in page_text(admin.get(answer["Location"]))


@pytest.mark.slow
def test_a_list_of_a_hundred_rows_costs_no_more_queries_than_one_of_a_few(world: World, operator: Client) -> None:
    # R015: permissions included, of a member with grants and limits of every kind.
    make_limit(world, agents=[world.agent.pk])
    make_grants(world, role=Role.OPERATOR)
    few = queries_of(operator)
    for number in range(100):
        make_member(world, f"member-{number}")
    assert queries_of(operator) == few


def queries_of(client: Client) -> int:
    with CaptureQueriesContext(connection) as made:
        assert client.get(list_of(Membership)).status_code == 200
    return len(made)
