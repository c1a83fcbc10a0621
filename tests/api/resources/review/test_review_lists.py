"""What people decide and look at: proposals, sessions, extractions, agents (R030, R062, R110, Z-2, Z-3)."""

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from apps.governance.database.actor_transaction import acting_as
from apps.governance.models import Proposal, Taint
from apps.learning.extraction.models import Extraction
from apps.memory.write_holds import MemoryReviewSplit, hold_for_review
from apps.personas.actions import amend_rule, propose_rule_change
from apps.runtime.explain.turn_retrieval import retrievals_of_session
from apps.skills.proposals import propose_deprecation
from tests.support.drivers.conversation import run_customer_turn
from tests.support.drivers.rest_client import Answer, RestClient, answer_event
from tests.support.factories.expired_proposals import let_run_out
from tests.support.factories.lessons import make_version
from tests.support.servers.standin_model import StandIn, standin, standing_in
from tests.support.worlds.world import (
    World,
    make_conversation,
    make_event,
    make_memory,
    make_persona,
    make_rule,
    make_skill,
)

__all__ = ["standin", "standing_in"]


def decide(asker: RestClient, proposal_id: int, to: str, **body: Any) -> Answer:
    return asker.post(f"proposals/{proposal_id}/transition/", {"to": to, **body})


def read_and_apply(asker: RestClient, proposal_id: int, **body: Any) -> Answer:
    """As somebody does who has just read it."""
    version = asker.get(f"proposals/{proposal_id}/").body["version"]
    return decide(asker, proposal_id, "applied", version=version, **body)


@pytest.fixture
def patch_id(world: World, bot: RestClient) -> int:
    """The open proposal of the agent for its persona."""
    persona = make_persona(world)
    bot.patch(f"personas/{persona.pk}/", {"proposed_patch": "Never name a carrier."})
    return int(bot.get("proposals/").body["results"][0]["id"])


@pytest.fixture
def revision_id(world: World, bot: RestClient) -> int:
    """The open proposal of the agent for an approved skill."""
    skill = make_skill(world, "approved")
    answer = bot.patch(f"skills/{skill.pk}/", {"body": "A better way."})
    return int(answer.headers["Location"].rpartition("/")[2])


@pytest.fixture
def deprecation_id(world: World) -> int:
    """The open proposal of the agent to retire a skill."""
    return propose_deprecation(make_skill(world, "approved"), actor=world.bot, rationale="Nobody needs it.").pk


def test_proposals_and_the_audit_log_name_agents_and_rules_as_people_know_them(
    world: World, bot: RestClient, operator: RestClient, patch_id: int
) -> None:
    rule = make_rule(world, "Never  name\n a rival.", of_agent=True)
    propose_rule_change(rule, actor=world.operator, text="Name no rival.")
    memory = make_memory(world)
    with acting_as(world.bot):
        hold_for_review(memory, MemoryReviewSplit("", Taint.AGENT, whole="Tea."), actor=world.bot, evidence=None)
    labels = {row["target_type"]: row["target_label"] for row in operator.get("proposals/").body["results"]}
    assert labels == {
        "personas.persona": f"Persona of agent {world.agent.key}",
        "personas.standingrule": "“Never name a rival.”",
        "memory.agentmemory": f"Memory of agent {world.agent.key}",
    }
    changes = operator.get("changes/?page_size=100").body["results"]
    named = {row["subject_label"] for row in changes if row["subject_type"] in labels}
    assert named == {f"{noun} of agent {world.agent.key}" for noun in ("Persona", "Rule", "Memory")}
    amend_rule(rule, actor=world.operator, values={"text": "Name nobody."})
    stale = next(row for row in operator.get("proposals/").body["results"] if row["target_id"] == rule.pk)
    refused = operator.post(f"proposals/{stale['id']}/approve/", {"reviewed_sha256": stale["content_sha256"]})
    assert (refused.code, refused.body["detail"].partition(" changed")[0]) == ("needs_rebase", "“Never name a rival.”")


def test_what_has_run_out_of_time_is_expired_before_the_sweep(
    world: World, bot: RestClient, operator: RestClient, patch_id: int
) -> None:
    with acting_as(world.operator):
        proposal = Proposal.objects.get(pk=patch_id)
    read = operator.get(f"proposals/{patch_id}/")
    let_run_out(proposal, world)
    for asker in (bot, operator):
        later = asker.get(f"proposals/{patch_id}/")
        assert later.body["state"] == "expired"
    unread = operator.get(f"proposals/{patch_id}/", If_None_Match=read.headers["ETag"])
    assert unread.status == 200
    for query, ids in {
        "state=open": [],
        "queue=waiting": [],
        "state=expired": [patch_id],
        "queue=expired": [patch_id],
    }.items():
        assert [row["id"] for row in operator.get(f"proposals/?{query}").body["results"]] == ids
    assert operator.get(f"proposals/{patch_id}/reach").code == "conflict"
    [persona] = operator.get("personas/").body["results"]
    assert persona["proposed_patch"] in {"", None}
    assert decide(operator, patch_id, "open", reason="Once more.").body["state"] == "open"


@pytest.mark.parametrize("to", ["applied", "rejected"])
def test_agent_sees_its_proposal_and_cannot_decide_it(bot: RestClient, patch_id: int, to: str) -> None:
    # R030
    answer = decide(bot, patch_id, to, avoid="x", reason="x")
    assert (answer.status, answer.code) == (403, "not_permitted")
    assert bot.get(f"proposals/{patch_id}/").body["state"] == "open"


def test_person_applies_a_patch_as_sections(operator: RestClient, patch_id: int) -> None:
    proposal = operator.get(f"proposals/{patch_id}/").body
    answer = decide(
        operator, patch_id, "applied", goals="Never name a carrier.", version=proposal["version"], target_version=1
    )
    assert (answer.status, answer.body["state"]) == (200, "applied")
    persona = operator.get(f"personas/{proposal['target_id']}/").body
    assert (persona["goals"], persona["proposed_patch"]) == ("Never name a carrier.", None)


def test_patch_is_not_applied_to_a_persona_that_moved_on(operator: RestClient, patch_id: int) -> None:
    target = operator.get(f"proposals/{patch_id}/").body["target_id"]
    operator.patch(f"personas/{target}/", {"style": "Brief."})
    answer = read_and_apply(operator, patch_id, avoid="x", target_version=1)
    assert (answer.status, answer.code, answer.body["current_version"]) == (409, "stale", 2)
    assert operator.get(f"proposals/{patch_id}/").body["state"] == "open"


def test_patch_without_sections_applies_nothing(operator: RestClient, patch_id: int) -> None:
    assert list(read_and_apply(operator, patch_id).body["errors"]) == ["content"]


@pytest.mark.parametrize("to", ["applied", "rejected"])
def test_decision_on_an_older_text_is_stale(bot: RestClient, operator: RestClient, patch_id: int, to: str) -> None:
    # R030
    before = operator.get(f"proposals/{patch_id}/").body
    bot.patch(f"personas/{before['target_id']}/", {"proposed_patch": "Swapped."})
    answer = decide(operator, patch_id, to, avoid="x", reason="x", version=before["version"])
    assert (answer.status, answer.code, answer.body["current_version"]) == (409, "stale", before["version"] + 1)
    assert operator.get(f"proposals/{patch_id}/").body["state"] == "open"


@pytest.mark.parametrize("kind", ["patch_id", "revision_id", "deprecation_id"])
def test_proposal_nobody_says_they_read_is_not_applied(
    request: pytest.FixtureRequest, operator: RestClient, kind: str
) -> None:
    # R030, Z-2, Z-3
    proposal_id: int = request.getfixturevalue(kind)
    sections = {"style": "x"} if kind == "patch_id" else {}
    answer = decide(operator, proposal_id, "applied", **sections)
    assert (answer.status, answer.code, list(answer.body["errors"])) == (400, "invalid", ["version"])
    assert "Send the version of the proposal" in answer.body["detail"]
    assert operator.get(f"proposals/{proposal_id}/").body["state"] == "open"
    assert read_and_apply(operator, proposal_id, **sections).body["state"] == "applied"


def test_person_applies_a_revision(world: World, operator: RestClient, revision_id: int) -> None:
    # Z-3
    answer = read_and_apply(operator, revision_id)
    assert (answer.status, answer.body["decided_by"]) == (200, f"operator:{world.operator_user.pk}")
    skill = operator.get(f"skills/{answer.body['target_id']}/").body
    assert (skill["body"], skill["status"]) == ("A better way.", "approved")


def test_revision_of_bytes_that_changed_is_stale(operator: RestClient, revision_id: int) -> None:
    target = operator.get(f"proposals/{revision_id}/").body["target_id"]
    operator.patch(f"skills/{target}/", {"body": "By hand."})
    assert read_and_apply(operator, revision_id).code == "needs_rebase"
    assert operator.get(f"skills/{target}/").body["body"] == "By hand."


def test_revision_takes_no_sections_of_a_persona(operator: RestClient, revision_id: int) -> None:
    assert list(read_and_apply(operator, revision_id, avoid="x").body["errors"]) == ["avoid"]


def test_person_applies_a_deprecation(operator: RestClient, deprecation_id: int) -> None:
    # Z-2
    decided = read_and_apply(operator, deprecation_id).body
    assert decided["state"] == "applied"
    assert operator.get(f"skills/{decided['target_id']}/").body["status"] == "deprecated"


def test_person_rejects_with_a_reason(operator: RestClient, revision_id: int) -> None:
    assert list(decide(operator, revision_id, "rejected").body["errors"]) == ["reason"]
    answer = decide(operator, revision_id, "rejected", reason="It skips a check.")
    assert (answer.body["state"], answer.body["decision_reason"]) == ("rejected", "It skips a check.")
    assert decide(operator, revision_id, "applied").code == "illegal_transition"


def test_proposals_are_filtered(operator: RestClient, patch_id: int, revision_id: int) -> None:
    def ids(query: str) -> list[int]:
        return [row["id"] for row in operator.get(f"proposals/?{query}").body["results"]]

    assert ids("kind=persona.patch") == [patch_id]
    assert ids("kind=skill.revision&state=open&agent_key=support") == [revision_id]
    assert ids("target_type=skills.skill&state=open") == [revision_id]
    assert ids("state=applied&kind=skill.revision") == []


@pytest.mark.parametrize("who", ["bot", "operator"])
def test_session_shows_the_frozen_prefix(world: World, request: pytest.FixtureRequest, who: str) -> None:
    # R041, R062, R066
    make_persona(world)
    turn = answer_event(world, make_event(world))
    asker: RestClient = request.getfixturevalue(who)
    session = asker.get(f"sessions/{turn.session_id}/").body
    assert len(session["prefix_sha256"]) == 64
    assert session["last_turn_at"] >= session["snapshot_at"]
    assert session["agent_key"] == "support"
    assert [part["position"] for part in session["parts"]] == list(range(len(session["parts"])))
    [persona] = [part for part in session["parts"] if part["slot"] == 1]
    assert "You are Ada" in persona["text"]
    [line] = asker.get(f"sessions/?conversation_id={turn.conversation_id}").body["results"]
    assert line == {name: value for name, value in session.items() if name not in {"parts", "retrieval"}}


@pytest.mark.parametrize("who", ["bot", "operator"])
def test_session_tells_what_each_turn_read_of_lessons(
    world: World, standin: StandIn, request: pytest.FixtureRequest, who: str
) -> None:
    # R165, R167
    version = make_version(world, "active", "- Say Ahoy.")
    turns = [run_customer_turn(world, text, standin) for text in ("Hello", "And?")]
    asker: RestClient = request.getfixturevalue(who)
    body = asker.get(f"sessions/{turns[0].session_id}/").body
    read = {"learning_version_id": version.pk, "bullet_count": 1, "example_ids": [], "bank_example_ids": []}
    assert body["retrieval"] == [{"turn_id": turn.pk} | read for turn in reversed(turns)]
    assert "Ahoy" not in str(body)


def test_what_a_session_read_is_told_in_two_statements(world: World, standin: StandIn) -> None:
    turns = [run_customer_turn(world, text, standin) for text in ("Hello", "And?", "Still?")]
    with acting_as(world.operator):
        session = turns[0].session
        assert session is not None
        with CaptureQueriesContext(connection) as asked:
            assert [each.turn_id for each in retrievals_of_session(session)] == [turn.pk for turn in reversed(turns)]
    assert len(asked) == 2


def test_change_after_the_snapshot_is_not_in_the_running_session(world: World, operator: RestClient) -> None:
    # R031, R063
    persona = make_persona(world)
    turn = answer_event(world, make_event(world))
    before = operator.get(f"sessions/{turn.session_id}/").body
    operator.patch(f"personas/{persona.pk}/", {"identity": "You are Bo."})
    assert operator.get(f"sessions/{turn.session_id}/").body == before


def make_extraction(world: World) -> Extraction:
    conversation = make_conversation(world)
    with acting_as(world.system):
        return Extraction.objects.create(
            tenant_id=world.tenant.pk,
            agent=world.agent,
            conversation=conversation,
            verdict=Extraction.Verdict.TRIVIAL,
            reason="No tool was needed.",
        )


def test_person_reads_why_nothing_was_learned(world: World, operator: RestClient) -> None:
    # R110
    extraction = make_extraction(world)
    [row] = operator.get("extractions/?verdict=trivial").body["results"]
    assert (row["id"], row["reason"], row["skill_id"]) == (extraction.pk, "No tool was needed.", None)
    assert operator.get(f"extractions/{extraction.pk}/").body == row
    assert operator.get(f"extractions/?conversation_id={extraction.conversation_id}").body["results"] == [row]


def test_agent_does_not_read_extractions(world: World, bot: RestClient) -> None:
    extraction = make_extraction(world)
    assert bot.get("extractions/").code == "not_permitted"
    assert bot.get(f"extractions/{extraction.pk}/").status == 403


def test_agents_are_shown_to_all_and_changed_by_neither_operators_nor_themselves(
    world: World, bot: RestClient, operator: RestClient
) -> None:
    row = operator.get(f"agents/{world.agent.pk}/").body
    assert (row["agent_key"], row["has_learning"]) == ("support", True)
    assert operator.get("agents/?agent_key=support").body["results"] == [row]
    assert bot.get(f"agents/{world.agent.pk}/").body == row
    for asker in (operator, bot):
        assert asker.patch(f"agents/{world.agent.pk}/", {"has_learning": False}).code == "not_permitted"
    assert operator.get(f"agents/{world.agent.pk}/").body["has_learning"] is True
