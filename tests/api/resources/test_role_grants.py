"""What a tenant changes of a role's grants, by REST."""

import pytest

from apps.governance.actors import Role
from apps.governance.database.actor_transaction import acting_as
from apps.governance.models import ChangeRecord
from apps.governance.policy.policy_table import default_grants
from tests.support.drivers.rest_client import RestClient
from tests.support.worlds.world import World

GRANT_REASON = "Settled at the review."
DEFAULT_GRANTS = sorted(default_grants(Role.AGENT))


def test_grants_of_a_role_are_written_hold_and_are_withdrawn(
    world: World, admin: RestClient, operator: RestClient, bot: RestClient
) -> None:
    # R015, R017
    noted = {"kind": "task", "text": "Call."}
    asked = {
        "role": "agent",
        "permissions": [name for name in DEFAULT_GRANTS if name != "note_write"],
        "reason": GRANT_REASON,
    }
    assert bot.post("notes/", noted).status == 201
    made = admin.post("role-grants/", asked)
    assert (made.status, made.body["role"], made.body["withheld"]) == (201, "agent", ["note_write"])
    assert bot.post("notes/", noted).code == "not_permitted"
    path = f"role-grants/{made.body['id']}/"
    assert operator.get("role-grants/?role=agent").body["results"] == [operator.get(path).body]
    assert operator.get("role-grants/?role=operator").body["results"] == []
    changed = admin.patch(
        path, {"permissions": DEFAULT_GRANTS, "reason": "They need it.", "version": made.body["version"]}
    )
    assert (changed.status, changed.body["withheld"]) == (200, [])
    assert bot.post("notes/", noted).status == 201
    stale = admin.patch(path, {"permissions": ["skill_fetch"], "reason": GRANT_REASON, "version": made.body["version"]})
    assert stale.code == "stale"
    assert admin.post(f"{path}withdraw/", {"reason": "The usual will do."}).status == 204
    assert admin.get(path).status == 404
    with acting_as(world.admin):
        kept = ChangeRecord.objects.filter(act__startswith="role_grant").order_by("id")
        assert [record.text.reason for record in kept] == [GRANT_REASON, "They need it.", "The usual will do."]


def test_only_admins_change_grants_of_a_role_and_no_agent_reads_them(
    admin: RestClient, operator: RestClient, bot: RestClient
) -> None:
    asked = {"role": "agent", "permissions": ["skill_fetch"], "reason": GRANT_REASON}
    path = f"role-grants/{admin.post('role-grants/', asked).body['id']}/"
    for asker in (operator, bot):
        assert asker.post("role-grants/", asked).code == "not_permitted"
        assert asker.patch(path, {"permissions": DEFAULT_GRANTS, "reason": GRANT_REASON}).code == "not_permitted"
        assert asker.post(f"{path}withdraw/", {}).code == "not_permitted"
    assert bot.get("role-grants/").code == bot.get(path).code == "not_permitted"


@pytest.mark.parametrize(
    ("sent", "field"),
    [
        ({"permissions": ["skill_approve"]}, "permissions"),
        ({"permissions": []}, "permissions"),
        ({"permissions": "skill_fetch"}, "permissions"),
        ({"role": "admin"}, "role"),
        ({"reason": " "}, "reason"),
    ],
)
def test_what_cannot_be_granted_is_refused_by_its_field(admin: RestClient, sent: dict[str, object], field: str) -> None:
    refused = admin.post(
        "role-grants/", {"role": "agent", "permissions": ["skill_fetch"], "reason": GRANT_REASON, **sent}
    )
    assert (refused.status, refused.code, list(refused.body["errors"])) == (400, "invalid", [field])


def test_a_change_and_a_withdrawal_without_a_reason_are_refused(admin: RestClient) -> None:
    made = admin.post("role-grants/", {"role": "agent", "permissions": ["skill_fetch"], "reason": GRANT_REASON})
    path = f"role-grants/{made.body['id']}/"
    for refused in (admin.patch(path, {"permissions": DEFAULT_GRANTS}), admin.post(f"{path}withdraw/", {})):
        assert (refused.status, list(refused.body["errors"])) == (400, ["reason"])
    assert admin.get(path).body["permissions"] == ["skill_fetch"]
