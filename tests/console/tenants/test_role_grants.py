"""The pages on which a tenant adds and takes grants of a role."""

import re

import pytest
from django.test import Client
from django.urls import reverse

from apps.governance.actors import Role
from apps.governance.database.actor_transaction import acting_as
from apps.governance.policy.policy_table import default_grants
from apps.tenants.authentication.actor_resolution import person_actor
from apps.tenants.models.grants import RoleGrants
from tests.support.drivers.console_client import decide, decision_of, list_of, page_of, page_text, page_words, save_form
from tests.support.worlds.world import World, make_role_grants

ADD = reverse("admin:tenants_rolegrants_add")
POLICY_PAGE = reverse("admin:policy")
GRANT_REASON = "Settled at the review."


def operator_grants(world: World) -> frozenset[str]:
    return person_actor(world.operator_user.pk, world.tenant.pk, Role.OPERATOR).grants


@pytest.mark.slow
def test_an_admin_takes_a_grant_of_operators_and_gives_it_back(world: World, admin: Client) -> None:
    # R015, R017
    assert "No role differs" in page_words(admin.get(list_of(RoleGrants)))
    made = save_form(admin, ADD, role="operator", reason=GRANT_REASON)
    assert "Nothing is withheld" in page_text(admin.get(made["Location"]))
    assert operator_grants(world) == default_grants(Role.OPERATOR)
    [row] = rows(world)
    kept = sorted(default_grants(Role.OPERATOR) - {"skill_approve__status"})
    answer = admin.post(page_of(row), {"permissions": kept, "reason": "Two people do it.", "read_at": row.version})
    assert answer.status_code == 302
    page = page_words(admin.get(page_of(row)))
    assert "here they may not: skill approve: status" in page
    assert "Two people do it." in page
    assert operator_grants(world) == set(kept)
    [row] = rows(world)
    whole = sorted(default_grants(Role.OPERATOR))
    admin.post(page_of(row), {"permissions": whole, "reason": "They may again.", "read_at": row.version})
    assert operator_grants(world) == set(whole)


def rows(world: World) -> list[RoleGrants]:
    with acting_as(world.admin):
        return list(RoleGrants.objects.visible_to(world.admin))


def test_the_page_shows_what_the_template_grants_beside_what_is_withheld(world: World, admin: Client) -> None:
    page = admin.get(page_of(make_role_grants(world, "skill_approve__status"))).content.decode()
    assert page.count('name="permissions"') == len(default_grants(Role.OPERATOR))
    template = page.partition("What the template grants")[2].partition("</details>")[0]
    cells = re.findall(r'data-label="(Granted|Withheld here)">([^<]*)</td>', template)
    words = {label: [each for of, cell in cells if of == label for each in cell.split("; ")] for label, _ in cells}
    assert [each for each in words["Withheld here"] if each != "none"] == ["approve: status"]
    assert len([each for each in words["Granted"] if each != "none"]) == len(default_grants(Role.OPERATOR)) - 1


def test_a_change_without_a_reason_is_shown_again_with_what_was_ticked(world: World, admin: Client) -> None:
    row = make_role_grants(world)
    answer = admin.post(page_of(row), {"permissions": ["skill_draft"], "reason": "", "read_at": row.version})
    page = answer.content.decode()
    assert "Not saved. What you typed is still here." in page
    assert re.findall(r'name="permissions"\s+value="(\w+)"[^>]*\schecked>', page) == ["skill_draft"]
    assert operator_grants(world) == default_grants(Role.OPERATOR)


def test_a_role_is_not_left_without_any_grant(world: World, admin: Client) -> None:
    row = make_role_grants(world)
    page = page_text(admin.post(page_of(row), {"reason": GRANT_REASON, "read_at": row.version}))
    assert "Grant at least one permission" in page
    assert "deactivate its members or use a kill switch" in page
    assert operator_grants(world) == default_grants(Role.OPERATOR)


def test_a_change_over_a_version_that_is_gone_is_refused_and_says_so(world: World, admin: Client) -> None:
    row = make_role_grants(world, "skill_draft")
    sent = {"permissions": ["skill_draft"], "reason": GRANT_REASON, "read_at": row.version}
    assert admin.post(page_of(row), sent).status_code == 302
    late = admin.post(page_of(row), {**sent, "permissions": ["skill_amend"]})
    assert late.status_code == 409
    assert operator_grants(world) == {"skill_draft"}


@pytest.mark.slow
def test_withdrawn_the_role_has_its_template_again_and_the_list_is_empty(world: World, admin: Client) -> None:
    row = make_role_grants(world, "skill_draft")
    refused = admin.post(decision_of(row, "withdraw"), {"read_at": row.version, "reason": ""})
    assert refused.status_code == 422
    answer = decide(admin, row, "withdraw", reason="Enough.")
    assert (answer.status_code, answer["Location"]) == (303, list_of(RoleGrants))
    assert operator_grants(world) == default_grants(Role.OPERATOR)
    shown = page_words(admin.get(answer["Location"]))
    assert "The role may do what its template grants" in shown
    assert "No role differs" in shown


def test_operators_read_what_their_role_may_and_change_nothing(world: World, operator: Client) -> None:
    row = make_role_grants(world, "skill_draft")
    page = operator.get(page_of(row)).content.decode()
    assert "skill draft" in page
    assert "What the template grants" in page
    assert 'name="permissions"' not in page
    assert decision_of(row, "withdraw") not in page
    assert operator.get(ADD).status_code == 403
    sent = {"permissions": ["skill_amend"], "reason": GRANT_REASON, "read_at": row.version}
    assert operator.post(page_of(row), sent).status_code == 403
    assert (
        operator.post(decision_of(row, "withdraw"), {"reason": GRANT_REASON, "read_at": row.version}).status_code == 403
    )
    assert operator_grants(world) == default_grants(Role.OPERATOR) - {"skill_draft"}


def test_the_policy_page_says_what_this_tenant_changed(world: World, admin: Client, operator: Client) -> None:
    assert "Nothing: each role may do what this table says." in page_text(admin.get(POLICY_PAGE))
    row = make_role_grants(world, "skill_approve__status", "skill_draft")
    for client, may_change in ((admin, True), (operator, False)):
        answer = client.get(POLICY_PAGE)
        page = page_words(answer)
        assert "Operator: 2 of the grants below are withheld" in page
        assert "skill approve: status" in page
        assert page_of(row) in answer.content.decode()
        assert ("Add or take grants of a role" in page) == may_change
