"""Skills over REST: born drafts, approved by people, changed afterwards only through them (R018, R090-R098, Z-2, Z-3)."""

from typing import Any

import pytest

from apps.governance.database.actor_transaction import acting_as
from apps.governance.models import ChangeRecord
from apps.skills.models import Skill
from tests.support.drivers.rest_client import Answer, RestClient
from tests.support.worlds.world import World, make_skill

pytestmark = pytest.mark.kernel

DRAFT = {"title": "Issue a refund", "description": "Within policy.", "body": "## Procedure\n1. Look the order up."}


def approve(operator: RestClient, skill: Skill, **more: Any) -> Answer:
    body = {"to": "approved", "reviewed_sha256": skill.content_sha256, **more}
    return operator.post(f"skills/{skill.pk}/transition/", body)


@pytest.mark.parametrize("status", ["approved", "deprecated", "draft", "nonsense", 5])
def test_created_skill_is_a_draft_whatever_was_sent(bot: RestClient, operator: RestClient, status: Any) -> None:
    # R093: by an agent and by an operator alike, and it is said (Z-14).
    for asker, key in ((bot, {}), (operator, {"agent_key": "support", "title": "Another"})):
        answer = asker.post("skills/", {**DRAFT, **key, "status": status})
        assert (answer.status, answer.body["status"], answer.body["ignored_fields"]) == (201, "draft", ["status"])


def test_forged_approval_fields_are_stripped(bot: RestClient) -> None:
    forged = {
        "approved_by": "operator:1",
        "approved_sha256": "x",
        "use_count": 9,
        "drafted_by": "operator:1",
        "version": 7,
    }
    answer = bot.post("skills/", {**DRAFT, **forged})
    assert answer.body["ignored_fields"] == sorted(forged)
    assert (answer.body["approved_by"], answer.body["use_count"], answer.body["version"]) == ("", 0, 1)
    assert answer.body["drafted_by"] == "agent:support"


@pytest.mark.parametrize(
    ("given", "name", "title"),
    [
        ({"title": "Issue a Refund"}, "issue-a-refund", "Issue a Refund"),
        ({"name": "issue-a-refund", "title": None}, "issue-a-refund", "Issue a refund"),
    ],
)
def test_name_and_title_give_each_other(bot: RestClient, given: dict[str, Any], name: str, title: str) -> None:
    # Z-4
    body = {key: value for key, value in {**DRAFT, **given}.items() if value is not None}
    answer = bot.post("skills/", body)
    assert (answer.body["name"], answer.body["title"]) == (name, title)


def test_skill_name_is_taken_once_per_agent(bot: RestClient) -> None:
    # R098
    assert bot.post("skills/", DRAFT).status == 201
    assert bot.post("skills/", DRAFT).code == "conflict"


@pytest.mark.parametrize("name", ["Issue A Refund", "a--b", "-a", "a_b", "a\n", "x" * 65])
def test_name_that_is_no_slug_is_refused(bot: RestClient, name: str) -> None:
    assert list(bot.post("skills/", {**DRAFT, "name": name}).body["errors"]) == ["name"]


def test_agent_edits_its_draft(world: World, bot: RestClient) -> None:
    skill = make_skill(world)
    answer = bot.patch(f"skills/{skill.pk}/", {"body": "Better.", "version": 1})
    assert (answer.status, answer.body["body"], answer.body["version"]) == (200, "Better.", 2)
    assert answer.body["content_sha256"] != skill.content_sha256


@pytest.mark.parametrize("status", ["approved", "deprecated", "draft"])
def test_agent_cannot_transition_draft_to_approved_status_is_stripped_on_update(
    world: World, bot: RestClient, status: str
) -> None:
    # R018, R094
    skill = make_skill(world)
    alone = bot.patch(f"skills/{skill.pk}/", {"status": status})
    assert (alone.status, alone.code, alone.body["ignored_fields"]) == (403, "nothing_permitted", ["status"])
    beside = bot.patch(f"skills/{skill.pk}/", {"status": status, "body": "Better."})
    assert (beside.status, beside.body["status"], beside.body["ignored_fields"]) == (200, "draft", ["status"])


@pytest.mark.parametrize("to", ["approved", "deprecated", "draft"])
def test_agent_cannot_use_the_transition(world: World, bot: RestClient, to: str) -> None:
    # R094
    skill = make_skill(world)
    answer = bot.post(f"skills/{skill.pk}/transition/", {"to": to, "reviewed_sha256": skill.content_sha256})
    assert (answer.status, answer.code) == (403, "not_permitted")
    assert bot.get(f"skills/{skill.pk}/").body["status"] == "draft"


def test_operator_approves_the_bytes_reviewed(world: World, operator: RestClient) -> None:
    # R092, R111
    skill = make_skill(world)
    answer = approve(operator, skill, version=1, reason="Reads well.")
    assert (answer.status, answer.body["status"]) == (200, "approved")
    assert answer.body["approved_by"] == f"operator:{world.operator_user.pk}"
    assert answer.body["approved_sha256"] == skill.content_sha256
    with acting_as(world.operator):
        record = ChangeRecord.objects.get(act="skill.approve")
        assert record.text.reason == "Reads well."


def test_operator_may_approve_through_a_plain_update(world: World, operator: RestClient) -> None:
    skill = make_skill(world)
    body = {"status": "approved", "reviewed_sha256": skill.content_sha256}
    assert operator.patch(f"skills/{skill.pk}/", body).body["status"] == "approved"


def test_approval_says_which_bytes_were_read(world: World, operator: RestClient) -> None:
    skill = make_skill(world)
    answer = operator.post(f"skills/{skill.pk}/transition/", {"to": "approved"})
    assert (answer.status, list(answer.body["errors"])) == (400, ["reviewed_sha256"])


def test_approval_of_other_bytes_is_stale(world: World, bot: RestClient, operator: RestClient) -> None:
    skill = make_skill(world)
    bot.patch(f"skills/{skill.pk}/", {"body": "Swapped after the review."})
    answer = approve(operator, skill)
    assert (answer.status, answer.code, answer.body["current_version"]) == (409, "stale", 2)
    assert operator.get(f"skills/{skill.pk}/").body["status"] == "draft"


def test_text_and_approval_in_one_update_approve_nothing_unread(world: World, operator: RestClient) -> None:
    skill = make_skill(world)
    body = {"body": "Never reviewed.", "status": "approved", "reviewed_sha256": skill.content_sha256}
    assert operator.patch(f"skills/{skill.pk}/", body).code == "stale"
    read = operator.get(f"skills/{skill.pk}/").body
    assert (read["status"], read["body"], read["version"]) == ("draft", skill.body, 1)


@pytest.mark.parametrize(
    ("status", "to", "allowed"),
    [
        ("approved", "draft", ["deprecated"]),
        ("approved", "approved", ["deprecated"]),
        ("deprecated", "approved", []),
        ("deprecated", "draft", []),
        ("draft", "draft", ["approved", "deprecated"]),
    ],
)
def test_move_that_is_none_is_refused_and_says_which_are(
    world: World, operator: RestClient, status: str, to: str, allowed: list[str]
) -> None:
    # R092
    skill = make_skill(world, status)
    answer = operator.post(f"skills/{skill.pk}/transition/", {"to": to, "reviewed_sha256": skill.content_sha256})
    assert (answer.status, answer.code, answer.body["allowed"]) == (400, "illegal_transition", allowed)


@pytest.mark.parametrize("status", ["draft", "approved"])
def test_operator_deprecates(world: World, operator: RestClient, status: str) -> None:
    skill = make_skill(world, status)
    answer = operator.post(f"skills/{skill.pk}/transition/", {"to": "deprecated", "reason": "Outdated."})
    assert (answer.status, answer.body["status"]) == (200, "deprecated")


def test_unknown_state_is_refused(world: World, operator: RestClient) -> None:
    skill = make_skill(world)
    assert operator.post(f"skills/{skill.pk}/transition/", {"to": "live"}).code == "invalid"


def test_agent_edit_of_an_approved_skill_waits_as_a_proposal(
    world: World, bot: RestClient, operator: RestClient
) -> None:
    # Z-3
    skill = make_skill(world, "approved")
    answer = bot.patch(f"skills/{skill.pk}/", {"body": "A better way.", "status": "draft", "version": skill.version})
    assert (answer.status, answer.body["id"], answer.body["version"]) == (202, skill.pk, skill.version)
    assert answer.body["ignored_fields"] == ["status"]
    assert answer.body["notice"] == "The skill stays as it is until a person has agreed to the revision."
    proposal = bot.get(answer.headers["Location"]).body
    assert (proposal["kind"], proposal["state"], proposal["target_id"]) == ("skill.revision", "open", skill.pk)
    assert proposal["base_sha256"] == skill.content_sha256
    assert operator.get(f"skills/{skill.pk}/").body["body"] == skill.body


def test_stale_revision_is_not_even_proposed(world: World, bot: RestClient) -> None:
    skill = make_skill(world, "approved")
    answer = bot.patch(f"skills/{skill.pk}/", {"body": "A better way.", "version": 1})
    assert (answer.status, answer.code) == (409, "stale")
    assert bot.get("proposals/?kind=skill.revision").body["results"] == []


def test_operator_edit_of_an_approved_skill_is_live_and_signed(world: World, operator: RestClient) -> None:
    skill = make_skill(world, "approved")
    answer = operator.patch(f"skills/{skill.pk}/", {"body": "A better way."})
    assert (answer.status, answer.body["status"], answer.body["body"]) == (200, "approved", "A better way.")
    assert answer.body["approved_sha256"] == answer.body["content_sha256"]


@pytest.mark.parametrize("who", ["bot", "operator"])
def test_deprecated_skill_stays_as_it_is(world: World, request: pytest.FixtureRequest, who: str) -> None:
    skill = make_skill(world, "deprecated")
    answer = request.getfixturevalue(who).patch(f"skills/{skill.pk}/", {"body": "Again."})
    assert (answer.status, answer.code) == (409, "conflict")


def test_put_wants_every_text(world: World, bot: RestClient) -> None:
    skill = make_skill(world)
    assert sorted(bot.put(f"skills/{skill.pk}/", {"body": "x"}).body["errors"]) == [
        "category",
        "description",
        "name",
        "title",
    ]
    read = bot.get(f"skills/{skill.pk}/").body
    assert bot.put(f"skills/{skill.pk}/", {**read, "body": "Better."}).body["body"] == "Better."


def test_agent_discards_a_draft_of_its_own(world: World, bot: RestClient) -> None:
    # Z-2
    skill = make_skill(world)
    assert bot.delete(f"skills/{skill.pk}/").status == 204
    assert bot.get(f"skills/{skill.pk}/").status == 404


@pytest.mark.parametrize("status", ["approved", "deprecated"])
def test_agent_cannot_delete_what_was_reviewed(world: World, bot: RestClient, status: str) -> None:
    # R020
    skill = make_skill(world, status)
    answer = bot.delete(f"skills/{skill.pk}/")
    assert (answer.status, answer.code) == (403, "not_permitted")
    assert "Ask an operator to deprecate it." in answer.body["detail"]


def test_agent_can_neither_change_nor_discard_a_draft_of_a_person(world: World, bot: RestClient) -> None:
    skill = make_skill(world, actor=world.operator)
    before = bot.get(f"skills/{skill.pk}/").body
    for answer in (bot.delete(f"skills/{skill.pk}/"), bot.patch(f"skills/{skill.pk}/", {"body": "Mine."})):
        assert (answer.status, answer.code) == (403, "not_permitted")
        assert "only its own drafts" in answer.body["detail"]
    assert bot.get(f"skills/{skill.pk}/").body == before


def test_operator_discards_drafts_and_deprecates_the_rest(world: World, operator: RestClient) -> None:
    draft, live = make_skill(world), make_skill(world, "approved")
    assert operator.delete(f"skills/{draft.pk}/").status == 204
    answer = operator.delete(f"skills/{live.pk}/")
    assert (answer.status, answer.code) == (409, "conflict")
    assert "Deprecate the skill instead" in answer.body["detail"]


def test_agent_that_asks_for_approval_is_told_that_approving_is_not_its_business(bot: RestClient, world: World) -> None:
    # R018, R094
    skill = make_skill(world)
    answer = bot.post(f"skills/{skill.pk}/transition/", {"to": "approved"})
    assert answer.status == 403
    assert "may not approve" in answer.body["detail"]


def test_proposed_revision_that_could_never_be_applied_is_refused_to_the_agent(bot: RestClient, world: World) -> None:
    # Z-3
    skill = make_skill(world, "approved")
    answer = bot.patch(f"skills/{skill.pk}/", {"name": "No Slug"})
    assert answer.status == 400
    assert "name" in answer.body["errors"]
