"""Learning versions by REST: the versions with the same bullets, and the withdrawal that takes them along (R146)."""

from tests.support.drivers.rest_client import RestClient
from tests.support.factories.lessons import QUARANTINE_REASON, make_version, versions_of
from tests.support.worlds.world import World

COPIED = {"bullet": "Always say Ahoy to customers.", "original": "Say Ahoy.", "is_reworded": True}


def statuses_of(world: World) -> list[str]:
    return [version.status for version in versions_of(world)]


def test_a_version_names_its_copies_and_a_withdrawal_takes_them_along(world: World, operator: RestClient) -> None:
    make_version(world, "active", "- Say Ahoy.")
    make_version(world, "active", "- Always say Ahoy to customers.\n- Be brief.")
    first, second = versions_of(world)
    path = f"learning-versions/{first.pk}/"
    copy = {"learning_version_id": second.pk, "number": 2, "status": "active", "bullets": [COPIED]}
    assert operator.get(path).body["copies"] == [copy]
    listed = operator.get("learning-versions/").body["results"]
    assert [row["copies"] for row in listed if row["id"] == first.pk] == [[copy]]
    done = operator.post(f"{path}withdraw/", {"reason": QUARANTINE_REASON})
    assert (done.status, done.body["status"], done.body["copies"]) == (200, "withdrawn", [])
    assert statuses_of(world) == ["withdrawn", "withdrawn"]


def test_a_copy_that_is_named_stays_and_both_versions_show_it(world: World, operator: RestClient) -> None:
    make_version(world, "active", "- Say Ahoy.")
    make_version(world, "active", "- Always say Ahoy to customers.\n- Be brief.")
    first, second = versions_of(world)
    path = f"learning-versions/{first.pk}/"
    staying = {"reason": QUARANTINE_REASON, "staying_version_ids": [second.pk]}
    done = operator.post(f"{path}withdraw/", staying)
    assert [copy["learning_version_id"] for copy in done.body["copies"]] == [second.pk]
    assert statuses_of(world) == ["withdrawn", "active"]
    original = {"learning_version_id": first.pk, "number": 1, "status": "withdrawn", "bullets": [COPIED]}
    assert operator.get(f"learning-versions/{second.pk}/").body["withdrawn_originals"] == [original]
    assert operator.get(path).body["withdrawn_originals"] == []


def test_a_withdrawal_that_names_another_version_is_refused_whole(world: World, operator: RestClient) -> None:
    version = make_version(world, "active", "- Say Ahoy.")
    other = make_version(world, "pending", "- Be brief.")
    sent = {"reason": QUARANTINE_REASON, "staying_version_ids": [other.pk]}
    refused = operator.post(f"learning-versions/{version.pk}/withdraw/", sent)
    assert refused.status == 400
    assert list(refused.body["errors"]) == ["staying_version_ids"]
    assert statuses_of(world) == ["active", "pending"]
