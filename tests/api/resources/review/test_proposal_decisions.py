"""Every decision on a proposal by REST, and what its agent learns of it."""

import pytest

from apps.governance.models import Proposal
from apps.personas.actions import propose_sections
from apps.skills.proposals import propose_revision
from tests.support.drivers.rest_client import RestClient, person_client
from tests.support.factories.approvals import approve_as_read
from tests.support.factories.stale_proposals import CLASH, MERGED, THEIRS, make_stale
from tests.support.worlds.world import World, make_member, make_persona, make_rule, make_skill, make_skill_with_file


@pytest.fixture
def high(world: World) -> Proposal:
    """A change of what the agent must never do, which takes two reviewers."""
    return propose_sections(make_persona(world), actor=world.bot, values={"avoid": "Never name a carrier."})


@pytest.fixture
def revision(world: World) -> Proposal:
    return propose_revision(make_skill(world, "approved"), actor=world.bot, values={"body": "A better way."})


def move_proposal(asker: RestClient, proposal: Proposal, to: str, **body: object) -> tuple[int, str]:
    answer = asker.post(f"proposals/{proposal.pk}/transition/", {"to": to, **body})
    return answer.status, answer.body.get("state") or answer.code


def list_proposal_ids(asker: RestClient, query: str) -> list[int]:
    return [row["id"] for row in asker.get(f"proposals/?{query}").body["results"]]


def test_person_reads_the_files_that_are_approved_with_the_words(world: World, operator: RestClient) -> None:
    # R091
    skill = make_skill_with_file(world)
    [proposal_id] = list_proposal_ids(operator, "state=open")
    [file] = operator.get(f"proposals/{proposal_id}/").body["review"]["files"]
    assert file == {
        "name": "prices.csv",
        "media_type": "text/csv",
        "size_bytes": 18,
        "sha256": skill.files[0].sha256,
        "uploaded_by": "agent:support",
        "findings": [],
        "text": "Plan,Price\nPro,20\n",
        "note": "",
    }


def test_person_reads_both_texts_and_who_has_to_agree(world: World, operator: RestClient, high: Proposal) -> None:
    approve_as_read(high, world.admin)
    review = operator.get(f"proposals/{high.pk}/").body["review"]
    assert review["changes"] == [
        {
            "field": "avoid",
            "base": "Never promise refund dates.",
            "live": "Never promise refund dates.",
            "after": "Never name a carrier.",
        }
    ]
    assert (review["risk_factors"], review["reviewers"], review["may_self_approve"]) == (["avoid"], 2, False)
    assert [one["by"] for one in review["approvals"]] == [world.admin.label]
    assert [review[name] for name in ("needs_rebase", "needs_edited_content", "is_author", "findings")] == [
        False,
        False,
        False,
        [],
    ]


def test_agent_reads_its_own_without_what_reviewers_read(bot: RestClient, operator: RestClient, high: Proposal) -> None:
    move_proposal(operator, high, "rejected", reason="We name them.", reason_code="against_policy")
    row = bot.get(f"proposals/{high.pk}/").body
    assert (row["review"], row["reason_code"], row["decision_reason"]) == (None, "against_policy", "We name them.")


def test_agent_revises_by_asking_again_and_takes_back(bot: RestClient, high: Proposal) -> None:
    body = {"kind": "persona.fields", "target_id": high.target_id, "content": {"avoid": "Never name any carrier."}}
    revised = bot.post("proposals/", body)
    assert (revised.status, revised.body["id"], revised.body["support_count"]) == (201, high.pk, 2)
    assert bot.ask("DELETE", f"proposals/{high.pk}/").status == 204
    assert list_proposal_ids(bot, "state=open") == []


def test_queues_divide_as_the_console_does(
    world: World, operator: RestClient, high: Proposal, revision: Proposal
) -> None:
    approve_as_read(high, world.admin)
    assert list_proposal_ids(operator, "queue=needs_second_reviewer") == [high.pk]
    operator.post(f"proposals/{revision.pk}/snooze/", {"until": "2999-01-01T00:00:00Z"})
    assert list_proposal_ids(operator, "queue=snoozed") == [revision.pk]
    assert list_proposal_ids(operator, "queue=waiting") == [high.pk]
    operator.post(f"proposals/{high.pk}/claim/", {})
    assert list_proposal_ids(operator, "is_claimed_by_caller=true") == [high.pk]
    assert list_proposal_ids(person_client(world.admin_user), "is_claimed_by_caller=true") == []
    assert high.pk not in list_proposal_ids(operator, "is_claimed_by_caller=false")
    assert list_proposal_ids(operator, "taint=customer") == []


def test_an_agents_rewording_of_every_agents_rule_takes_two_reviewers(
    world: World, bot: RestClient, operator: RestClient
) -> None:
    rule = make_rule(world, of_agent=False)
    asked = {"kind": "rule.change", "target_id": rule.pk, "content": {"text": "Name every competitor."}}
    proposal = bot.post("proposals/", asked).body
    assert proposal["risk"] == "high"
    review = operator.get(f"proposals/{proposal['id']}/").body["review"]
    assert (review["risk_factors"], review["reviewers"]) == (["organisation_rules", "rules"], 2)
    read = {"reviewed_sha256": proposal["content_sha256"]}
    assert operator.post(f"proposals/{proposal['id']}/approve/", read).status == 202
    assert operator.get(f"rules/{rule.pk}/").body["text"] == rule.text
    assert person_client(world.admin_user).post(f"proposals/{proposal['id']}/approve/", read).status == 200
    assert operator.get(f"rules/{rule.pk}/").body["text"] == "Name every competitor."


def test_a_stale_proposal_says_so_in_lists_and_is_filtered_by_it(
    world: World, bot: RestClient, operator: RestClient, high: Proposal
) -> None:
    stale = make_stale(world, Proposal.Kind.SKILL_REVISION)
    assert list_proposal_ids(operator, "queue=needs_rebase") == [stale.pk]
    assert stale.pk in list_proposal_ids(operator, "queue=waiting")
    assert list_proposal_ids(operator, "needs_rebase=true") == [stale.pk]
    assert list_proposal_ids(operator, "needs_rebase=false&state=open") == [high.pk]
    for asker in (operator, bot):
        shown = {row["id"]: row["needs_rebase"] for row in asker.get("proposals/?state=open").body["results"]}
        assert shown == {stale.pk: True, high.pk: False}
        assert asker.get(f"proposals/{stale.pk}/").body["needs_rebase"] is True
    operator.post(f"proposals/{stale.pk}/rebase/", {"merge": True})
    assert list_proposal_ids(operator, "needs_rebase=true") == []


def test_a_rebase_merges_what_needs_no_choice(world: World, operator: RestClient) -> None:
    stale, clash = (make_stale(world, Proposal.Kind.SKILL_REVISION, live) for live in (THEIRS, CLASH))
    both = operator.post(f"proposals/{stale.pk}/rebase/", {"merge": True, "content": {"body": "Mine."}})
    assert (both.status, list(both.body["errors"])) == (400, ["merge"])
    merged = operator.post(f"proposals/{stale.pk}/rebase/", {"merge": True, "version": stale.version})
    assert (merged.status, merged.body["edited_content"], merged.body["needs_rebase"]) == (200, {"body": MERGED}, False)
    refused = operator.post(f"proposals/{clash.pk}/rebase/", {"merge": True})
    assert (refused.status, refused.code) == (409, "conflict")
    assert operator.get(f"proposals/{clash.pk}/").body["version"] == clash.version


def test_states_are_reached_by_name_and_left_again(operator: RestClient, revision: Proposal) -> None:
    assert move_proposal(operator, revision, "quarantined") == (400, "invalid")
    assert move_proposal(operator, revision, "quarantined", reason="Copied from a customer.") == (200, "quarantined")
    assert move_proposal(operator, revision, "open", reason="It was not.") == (200, "open")
    assert move_proposal(operator, revision, "rejected", reason="No.", reason_code="wrong") == (200, "rejected")
    assert move_proposal(operator, revision, "open") == (200, "open")
    seen = operator.get(f"proposals/{revision.pk}/").body["content_sha256"]
    assert move_proposal(operator, revision, "applied", reviewed_sha256=seen) == (200, "applied")
    assert move_proposal(operator, revision, "open") == (200, "open")
    skill = operator.get(f"skills/{revision.target_id}/").body
    assert skill["body"] != "A better way."


def test_words_are_edited_on_the_way(world: World, operator: RestClient, revision: Proposal, high: Proposal) -> None:
    make_member(world, "third")
    content = {"body": "The best way."}
    assert move_proposal(operator, revision, "applied", version=revision.version, content=content) == (200, "applied")
    assert operator.get(f"skills/{revision.target_id}/").body["body"] == "The best way."
    content = {"avoid": "Never name any carrier."}
    assert move_proposal(operator, high, "applied", version=high.version, content=content) == (202, "open")
    row = operator.get(f"proposals/{high.pk}/").body
    assert (row["content"], row["edited_content"]) == ({"avoid": "Never name a carrier."}, content)
    assert row["review"]["is_author"] is True


def test_agent_reaches_no_state(bot: RestClient, high: Proposal) -> None:
    for to in ("applied", "rejected", "quarantined", "open"):
        assert move_proposal(bot, high, to, reason="x", version=1) == (403, "not_permitted")


def test_a_yes_that_needs_a_second_reviewer_is_answered_as_accepted_with_where_it_waits(
    world: World, bot: RestClient, operator: RestClient
) -> None:
    persona = make_persona(world)
    make_member(world)
    assert bot.patch(f"personas/{persona.pk}/", {"proposed_patch": "Name our rivals when asked."}).status == 200
    waits = operator.get(f"personas/{persona.pk}/").body["proposed_patch_proposal"]
    body = {
        "proposed_patch": None,
        "avoid": "Nothing.",
        "proposal_id": waits["id"],
        "proposal_version": waits["version"],
    }
    answer = operator.patch(f"personas/{persona.pk}/", body)
    assert answer.status == 202
    assert answer.body["avoid"] == persona.avoid
    assert "2 more reviewers" in answer.body["notice"]
    assert operator.get(answer.headers["Location"]).body["id"] == waits["id"]


def test_person_takes_some_of_the_proposed_sections(world: World, operator: RestClient) -> None:
    persona = make_persona(world)
    proposal = propose_sections(persona, actor=world.bot, values={"style": "Brief.", "goals": "Be quick."})
    path = f"proposals/{proposal.pk}"
    seen = operator.get(f"{path}/").body["content_sha256"]
    refused = operator.post(f"{path}/approve/", {"reviewed_sha256": seen, "content": {}})
    assert (refused.status, refused.code) == (400, "invalid")
    assert operator.post(f"{path}/approve/", {"reviewed_sha256": seen, "content": {"goals": "Be quick."}}).status == 200
    assert operator.get(f"{path}/").body["review"]["left_out"] == ["style"]
    live = operator.get(f"personas/{persona.pk}/").body
    assert (live["goals"], live["style"]) == ("Be quick.", persona.style)
