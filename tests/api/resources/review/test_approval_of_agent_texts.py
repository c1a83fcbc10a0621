"""People hold skills apart and vouch for agents' words by REST as on the page; no agent does."""

import pytest

from apps.governance.database.actor_transaction import acting_as
from apps.governance.models import ChangeRecord
from apps.governance.policy.policy_table import Act
from tests.support.drivers.rest_client import RestClient
from tests.support.worlds.world import World, make_skill


def test_a_skill_is_quarantined_and_released(world: World, operator: RestClient, bot: RestClient) -> None:
    path = f"skills/{make_skill(world).pk}/"
    assert bot.post(f"{path}quarantine/", {"reason": "Odd."}).code == "not_permitted"
    before = operator.get(path)
    held = operator.post(f"{path}quarantine/", {"reason": "Odd."}, If_Match=before.headers["ETag"])
    assert (held.status, held.body["quarantine_reason"], held.body["status"]) == (200, "Odd.", before.body["status"])
    assert held.body["quarantined_by"] == f"operator:{world.operator_user.pk}"
    assert bot.get(path).status == bot.post(f"{path}release/", {"reason": "Mine."}).status == 404
    assert operator.post(f"{path}quarantine/", {"reason": "Again."}).code == "conflict"
    late = operator.post(f"{path}release/", {"reason": "Read.", "version": before.body["version"]})
    assert (late.status, late.code, late.body["current_version"]) == (409, "stale", held.body["version"])
    free = operator.post(f"{path}release/", {"reason": "Read."})
    assert (free.body["quarantined_at"], free.body["quarantined_by"], free.body["quarantine_reason"]) == (None, "", "")
    assert bot.get(path).status == 200
    assert operator.post(f"{path}release/", {"reason": "Again."}).code == "conflict"


@pytest.mark.parametrize("verb", ["quarantine", "release", "retain"])
def test_a_decision_that_needs_a_reason_is_refused_without_one(world: World, operator: RestClient, verb: str) -> None:
    path = f"skills/{make_skill(world).pk}/{verb}/"
    for sent in ({}, {"version": 1}, {"reason": " "}, {"reason": 7}):
        refused = operator.post(path, sent)
        assert (refused.status, refused.code, list(refused.body["errors"])) == (400, "invalid", ["reason"])


@pytest.mark.parametrize(
    ("noun", "new", "act"),
    [
        ("memories", {"body": "Most are in the EU."}, Act.MEMORY_APPROVE),
        ("memory-blocks", {"label": "Facts", "body": ""}, Act.BLOCK_APPROVE),
    ],
)
def test_words_of_an_agent_are_vouched_for_as_they_were_read(
    world: World, operator: RestClient, bot: RestClient, noun: str, new: dict[str, str], act: Act
) -> None:
    made = operator.post(f"{noun}/", {"agent_key": world.agent.key, **new}).body
    path = f"{noun}/{made['id']}/"
    written = bot.patch(path, {"body": "Half of them are."}).body
    assert (written["updated_by"], written["taint"]) == ("agent", "agent")
    assert bot.post(f"{path}approve/", {}).code == "not_permitted"
    unsaid = operator.post(f"{path}approve/", {})
    assert (unsaid.code, list(unsaid.body["errors"])) == ("invalid", ["version"])
    late = operator.post(f"{path}approve/", {"version": made["version"]})
    assert (late.code, late.body["current_version"]) == ("stale", written["version"])
    vouched, again = (
        operator.post(f"{path}approve/", {"version": written["version"]}, Idempotency_Key="k") for _ in range(2)
    )
    assert (vouched.status, vouched.body["taint"], vouched.body["body"]) == (200, "operator", "Half of them are.")
    assert vouched.body["updated_by"] == f"operator:{world.operator_user.pk}"
    assert again.headers["Idempotent-Replayed"] == "true"
    with acting_as(world.operator):
        assert ChangeRecord.objects.filter(act=act).count() == 1
