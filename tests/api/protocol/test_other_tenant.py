"""No row of a tenant can be listed, read, made, changed or removed from another one (R006, R007)."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from apps.governance.database.actor_transaction import acting_as
from apps.governance.models import AuditCheck, ChangeRecord, Refusal
from apps.learning.extraction.models import Extraction
from apps.memory.models import MemoryLine
from apps.restore.actions import make_checkpoint
from apps.runtime.models import Spend
from apps.tenants.actions import create_agent, issue_token, write_grants
from apps.tenants.audit_export import verify_tenant_log
from apps.tenants.models import TenantSettings
from apps.tenants.models.grants import AgentGrants
from tests.support.drivers.rest_client import RestClient, agent_client, answer_event, person_client
from tests.support.factories.comments import make_comment
from tests.support.factories.contradictions import make_contradiction
from tests.support.factories.lessons import cases_of, make_cluster, make_example, make_lesson, make_version
from tests.support.factories.member_talks import make_assistant, make_member_overlay, make_talk, make_trial
from tests.support.factories.memory_tiers import make_tier, make_tier_run
from tests.support.factories.notes import make_note
from tests.support.factories.reports import make_report
from tests.support.worlds.filled_world import refuse_once
from tests.support.worlds.furnished_tenant import make_digest_run, make_reflection
from tests.support.worlds.world import (
    World,
    make_block,
    make_conversation,
    make_event,
    make_identity_card,
    make_limit,
    make_member,
    make_memory,
    make_overlay,
    make_persona,
    make_profile,
    make_rule,
    make_skill,
)

# Walks what other tests already cover.
pytestmark = pytest.mark.unmeasured


@dataclass(frozen=True)
class NounCase:
    """How to make a row of a noun, and how somebody would try to reach it."""

    make: Callable[[World], int]
    change: dict[str, Any] = field(default_factory=dict)
    transition: dict[str, Any] = field(default_factory=dict)
    query: str = ""


def make_proposal(world: World) -> int:
    persona = make_persona(world)
    agent_client(world).patch(f"personas/{persona.pk}/", {"proposed_patch": "Be brief."})
    return int(agent_client(world).get("proposals/").body["results"][0]["id"])


def make_extraction(world: World) -> int:
    conversation = make_conversation(world)
    with acting_as(world.system):
        row = Extraction.objects.create(
            tenant_id=world.tenant.pk, agent=world.agent, conversation=conversation, verdict="trivial", reason="None."
        )
    return row.pk


def make_line(world: World) -> int:
    memory = make_memory(world)
    with acting_as(world.operator):
        return MemoryLine.objects.get(memory=memory).pk


def make_session(world: World) -> int:
    session_id = answer_event(world, make_event(world)).session_id
    assert session_id is not None
    return session_id


def make_spend(world: World) -> int:
    answer_event(world, make_event(world))
    with acting_as(world.operator):
        return Spend.objects.get().pk


def make_message(world: World) -> int:
    reply_id = answer_event(world, make_event(world)).reply_id
    assert reply_id is not None
    return reply_id


def make_case(world: World) -> int:
    make_lesson(world)
    return cases_of(world)[0].pk


def make_change(world: World) -> int:
    make_skill(world)
    with acting_as(world.operator):
        return ChangeRecord.objects.all()[0].pk


def make_refusal(world: World) -> int:
    refuse_once(make_skill(world), world)
    with acting_as(world.operator):
        return Refusal.objects.get().pk


def make_verification(world: World) -> int:
    verify_tenant_log(world.operator)
    with acting_as(world.operator):
        return AuditCheck.objects.get().pk


def make_settings(world: World) -> int:
    with acting_as(world.admin):
        return TenantSettings.objects.visible_to(world.admin).get().pk


def make_grants(world: World) -> int:
    grants = AgentGrants(tenant_id=world.tenant.pk, agent=world.agent, role="operator")
    return write_grants(grants, actor=world.admin, granted=["skill_approve", "skill_draft"]).pk


def make_token(world: World) -> int:
    return issue_token(world.agent, actor=world.admin, name="spare").row.pk


NOUNS = {
    "agents": NounCase(lambda world: world.agent.pk),
    "personas": NounCase(lambda world: make_persona(world).pk, {"style": "Mine.", "proposed_patch": "Mine."}),
    "overlays": NounCase(lambda world: make_overlay(world).pk, {"text": "Mine."}, query="agent_key=support"),
    "identity-cards": NounCase(lambda world: make_identity_card(world).pk, {"hours": "Mine."}, query="line_key="),
    "rules": NounCase(lambda world: make_rule(world, of_agent=False).pk, {"text": "Mine."}, query="status=active"),
    "skills": NounCase(
        lambda world: make_skill(world).pk,
        {"body": "Mine."},
        {"to": "approved", "reviewed_sha256": "x"},
        "status=draft",
    ),
    "memories": NounCase(lambda world: make_memory(world).pk, {"body": "Mine."}, query="agent_key=support"),
    "memory-blocks": NounCase(lambda world: make_block(world).pk, {"body": "Mine."}, query="label=BusinessFacts"),
    "profiles": NounCase(lambda world: make_profile(world).pk, {"notes": "Mine."}, query="end_user_key=http:abc123"),
    "notes": NounCase(lambda world: make_note(world).pk, {"text": "Mine."}, query="kind=task"),
    "conversations": NounCase(
        lambda world: make_conversation(world).pk,
        {"status": "resolved"},
        {"to": "resolved"},
        "end_user_key=http:abc123",
    ),
    "messages": NounCase(make_message, query="conversation_id=1"),
    "sessions": NounCase(make_session, query="agent_key=support"),
    "proposals": NounCase(make_proposal, {}, {"to": "rejected", "reason": "Mine."}, "state=open"),
    "spend": NounCase(make_spend, query="agent_key=support"),
    "memory-lines": NounCase(make_line, query="status=active"),
    "tiers": NounCase(lambda world: make_tier(world).pk, {"body": "- Mine."}, query="tier=mid"),
    "tier-runs": NounCase(lambda world: make_tier_run(world).pk, query="verdict=nothing"),
    "extractions": NounCase(make_extraction, query="verdict=trivial"),
    "reflections": NounCase(lambda world: make_reflection(world).pk, query="verdict=nothing"),
    "lessons": NounCase(lambda world: make_lesson(world).pk, query="source=edited_draft"),
    "lesson-cases": NounCase(make_case, query="source=edited_draft"),
    "contradictions": NounCase(lambda world: make_contradiction(world).pk, query="status=open"),
    "learning-versions": NounCase(lambda world: make_version(world).pk, query="status=pending"),
    "comments": NounCase(lambda world: make_comment(world).pk, query="status=active"),
    "reports": NounCase(lambda world: make_report(world).pk, query="status=open"),
    "examples": NounCase(lambda world: make_example(world).pk, query="status=approved"),
    "edit-clusters": NounCase(lambda world: make_cluster(world).pk, query="status=open"),
    "digest-runs": NounCase(lambda world: make_digest_run(world).pk, query="verdict=refused"),
    "settings": NounCase(make_settings, {"timezone": "Europe/Berlin"}),
    "grants": NounCase(make_grants, {"permissions": []}, query="role=operator"),
    "tokens": NounCase(make_token, query="agent_key=support"),
    "members": NounCase(lambda world: make_member(world).pk, {"role": "admin"}, query="role=operator"),
    "limits": NounCase(lambda world: make_limit(world).pk, {"agent_ids": []}, query="limited_act=skill.approve"),
    "checkpoints": NounCase(lambda world: make_checkpoint("Now", actor=world.operator).pk, query="search=Now"),
    "verifications": NounCase(make_verification),
    "talks": NounCase(lambda world: make_talk(make_assistant(world)).pk, query="status=open"),
    "trials": NounCase(lambda world: make_trial(world).pk, query="status=open"),
    "member-overlays": NounCase(lambda world: make_member_overlay(make_assistant(world)).pk, {"text": "Mine."}),
    "changes": NounCase(make_change, query="act=skill.draft"),
    "refusals": NounCase(make_refusal, query="code=not_permitted"),
}


@pytest.fixture(params=["agent", "operator"])
def stranger(request: pytest.FixtureRequest, world: World) -> RestClient:
    """The other tenant's agent, or its operator."""
    return agent_client(world) if request.param == "agent" else person_client(world.operator_user)


def is_hidden(status: int) -> bool:
    """Absent, or not for agents, or no such method; never done and never a different kind of no."""
    return status in {403, 404, 405}


# Read by people alone.
JOURNALS_OF_PEOPLE = {
    "memory-lines",
    "extractions",
    "reflections",
    "contradictions",
    "tier-runs",
    "lessons",
    "lesson-cases",
    "learning-versions",
    "edit-clusters",
    "comments",
    "reports",
    "examples",
    "digest-runs",
    "changes",
    "refusals",
    "spend",
    *("settings", "tokens", "grants"),
    *("members", "limits", "checkpoints", "verifications", "talks", "trials", "member-overlays"),
}


@pytest.mark.parametrize("noun", NOUNS)
def test_row_of_another_tenant_cannot_be_read_or_written(other: World, stranger: RestClient, noun: str) -> None:
    row_id = NOUNS[noun].make(other)
    owner = person_client(other.operator_user)
    before = owner.get(f"{noun}/{row_id}/")
    assert before.status == 200
    missing = stranger.get(f"{noun}/999999999/")
    path = f"{noun}/{row_id}/"
    answer = stranger.get(path)
    assert (answer.status, answer.body["detail"]) == (missing.status, missing.body["detail"])
    assert is_hidden(answer.status)
    assert is_hidden(stranger.patch(path, NOUNS[noun].change).status)
    assert is_hidden(stranger.put(path, NOUNS[noun].change).status)
    assert is_hidden(stranger.delete(path).status)
    assert is_hidden(stranger.post(f"{path}transition/", NOUNS[noun].transition).status)
    assert owner.get(f"{noun}/{row_id}/").body == before.body


@pytest.mark.parametrize("noun", NOUNS)
def test_row_of_another_tenant_is_in_no_list_and_behind_no_filter(
    other: World, stranger: RestClient, noun: str
) -> None:
    row_id = NOUNS[noun].make(other)
    query = NOUNS[noun].query
    if noun == "messages":
        conversation_id = person_client(other.operator_user).get(f"messages/{row_id}/").body["conversation_id"]
        query = f"conversation_id={conversation_id}"
    for path in ([] if noun == "messages" else [f"{noun}/"]) + [f"{noun}/?{query}"]:
        answer = stranger.get(path)
        if answer.status == 403:
            assert noun in JOURNALS_OF_PEOPLE
            continue
        assert row_id not in [row["id"] for row in answer.body["results"]]


def test_event_of_another_tenant_cannot_be_waited_for(other: World, stranger: RestClient) -> None:
    event = make_event(other)
    assert agent_client(other).get(f"events/{event.pk}/").status == 200
    assert stranger.get(f"events/{event.pk}/").status == 404


@pytest.mark.parametrize(
    ("noun", "body"),
    [
        ("personas", {"identity": "Mine."}),
        ("overlays", {"text": "Mine."}),
        ("identity-cards", {"hours": "Mine."}),
        ("rules", {"text": "Mine."}),
        ("skills", {"title": "Mine", "description": "Mine.", "body": "Mine."}),
        ("memories", {"body": "Mine."}),
        ("memory-blocks", {"label": "Mine"}),
        ("messages", {"conversation_key": "t", "text": "Mine.", "idempotency_key": "k"}),
    ],
)
def test_nothing_can_be_made_for_an_agent_of_another_tenant(
    other: World, stranger: RestClient, noun: str, body: dict[str, str]
) -> None:
    sales = create_agent("sales", "Sales", actor=other.system)
    answer = stranger.post(f"{noun}/", {**body, "agent_key": sales.key})
    assert answer.status in {400, 403}
    assert person_client(other.operator_user).get("skills/").body["results"] == []


def test_same_keys_in_two_tenants_are_two_rows(world: World, other: World) -> None:
    # R008: agent key and end user key are names within a tenant.
    make_profile(other, notes="Theirs.")
    make_memory(other, "Theirs.")
    bot = agent_client(world)
    assert bot.post("profiles/", {"end_user_key": "http:abc123", "notes": "Ours."}).status == 201
    assert bot.post("memories/", {"body": "Ours."}).status == 201
    assert [row["notes"] for row in agent_client(other).get("profiles/").body["results"]] == ["Theirs."]


def test_idempotency_key_of_another_tenant_says_nothing(world: World, other: World) -> None:
    body = {"conversation_key": "t", "end_user_key": "http:abc123", "text": "Ours."}
    theirs = agent_client(other).post("messages/", {**body, "text": "Theirs."}, Idempotency_Key="k")
    ours = agent_client(world).post("messages/", body, Idempotency_Key="k")
    assert (theirs.status, ours.status) == (202, 202)
    assert theirs.body["event_id"] != ours.body["event_id"]
