"""Retiring and keeping skills by REST: for people."""

from apps.skills.models import Skill
from tests.support.drivers.rest_client import RestClient
from tests.support.worlds.world import World, make_skill


def test_a_skill_is_kept_with_a_reason(world: World, operator: RestClient) -> None:
    skill = make_skill(world, "approved")
    address = f"skills/{skill.pk}/retain/"
    assert operator.get("skills/?curation=any").body["results"] == []
    assert operator.get("skills/?curation=ugly").code == "invalid"
    curation = operator.get(f"skills/{skill.pk}/curation/").body
    assert (curation["suggestions"], curation["with_skill"]) == ([], {"ended": 0, "ended_badly": 0})
    assert operator.post(address, {}).code == "invalid"
    assert operator.post(address, {"reason": " "}).code == "invalid"
    assert operator.post(address, {"reason": "For Christmas.", "version": skill.version - 1}).code == "stale"
    assert skill.version > 1
    kept = operator.post(address, {"reason": "For Christmas.", "version": skill.version})
    assert (kept.status, kept.body["status"]) == (200, Skill.Status.APPROVED)
    draft = make_skill(world)
    assert operator.get(f"skills/{draft.pk}/curation/").code == "conflict"
    assert operator.post(f"skills/{draft.pk}/retain/", {"reason": "Good."}).code == "conflict"


def test_an_agent_reads_no_suggestion_and_keeps_nothing(world: World, bot: RestClient) -> None:
    skill = make_skill(world, "approved")
    assert bot.get("skills/?curation=unused").status == 403
    assert bot.get(f"skills/{skill.pk}/curation/").status == 403
    assert bot.post(f"skills/{skill.pk}/retain/", {"reason": "Mine."}).status == 403
