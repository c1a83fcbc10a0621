"""An agent tends its skills: drafts of its own it changes, of approved ones it proposes (R100-R107, Z-2, Z-3)."""

import json
from itertools import count
from typing import Any

import pytest

from apps.governance.database.actor_transaction import acting_as
from apps.governance.models import Proposal, Taint
from apps.governance.policy.policy_table import Act, codename
from apps.runtime.tools.builtin_catalog import builtin_tools
from apps.runtime.tools.builtin_tool import ToolOffer
from apps.skills.models import Skill, SkillUse
from apps.tenants.actions import amend_agent
from tests.support.drivers.conversation import calls, reply, run_customer_turn, tool
from tests.support.servers.standin_model import StandIn
from tests.support.worlds.world import World, make_grants, make_skill, make_world

pytestmark = pytest.mark.django_db

_numbers = count(1)
TOOLS = ["skill_save", "skill_list", "skill_view", "skill_patch", "skill_delete"]
RUNBOOK = {"title": "Greet", "description": "How to greet.", "body": "## Procedure\n1. Say hello.\n2. Say hello again."}


@pytest.fixture
def world() -> World:
    world = make_world()
    amend_agent(world.agent, actor=world.admin, may_edit_skills=True)
    return world


def call_tool_in_turn(
    world: World, standin: StandIn, name: str, customer_text: str = "", thread: str = "thread", **given: Any
) -> dict[str, Any]:
    standin.play(tool(name, **given), reply("Done."))
    [made] = calls(
        world, run_customer_turn(world, customer_text or f"Please {name} ({next(_numbers)})", standin, thread=thread)
    )
    return made


def drafted_skill(world: World) -> Skill:
    with acting_as(world.operator):
        return Skill.objects.visible_to(world.operator).get()


def proposals(world: World, kind: Proposal.Kind) -> list[Proposal]:
    with acting_as(world.operator):
        return list(Proposal.objects.visible_to(world.operator).filter(kind=kind))


def test_they_are_offered_last_and_only_where_its_page_says_so(standin: StandIn) -> None:
    world = make_world()
    run_customer_turn(world, "Hello", standin, thread="one")
    before = [each["name"] for each in standin.requests()[-1]["tools"]]
    amend_agent(world.agent, actor=world.admin, may_edit_skills=True)
    run_customer_turn(world, "Hello again", standin, thread="two")
    assert [each["name"] for each in standin.requests()[-1]["tools"]] == [*before, *TOOLS]


def test_a_draft_of_its_own_is_saved_viewed_patched_and_deleted(world: World, standin: StandIn) -> None:
    # R100, R101
    call_tool_in_turn(world, standin, "skill_save", category="Manners", **RUNBOOK)
    skill = drafted_skill(world)
    assert (skill.status, skill.category, skill.drafted_by) == (Skill.Status.DRAFT, "Manners", world.bot.label)
    seen = json.loads(call_tool_in_turn(world, standin, "skill_view", skill_id=skill.pk)["result"])
    assert (seen["version"], seen["body"], seen["status"]) == (skill.version, RUNBOOK["body"], "draft")
    assert "Nobody approved" in seen["note"]
    with acting_as(world.operator):
        assert not SkillUse.objects.exists(), "a look at a draft is no use"
    made = call_tool_in_turn(
        world,
        standin,
        "skill_patch",
        skill_id=skill.pk,
        version=seen["version"],
        find="1. Say hello.",
        replace="1. Wave.",
    )
    assert made["is_error"] is False, made["result"]
    skill = drafted_skill(world)
    assert (skill.version, skill.body) == (seen["version"] + 1, "## Procedure\n1. Wave.\n2. Say hello again.")
    [waiting] = proposals(world, Proposal.Kind.SKILL_NEW)
    assert (waiting.content["body"], waiting.base_sha256) == (skill.body, skill.content_sha256)
    call_tool_in_turn(
        world, standin, "skill_save", skill_id=skill.pk, version=skill.version, description="How to wave."
    )
    assert drafted_skill(world).description == "How to wave."
    assert (
        call_tool_in_turn(world, standin, "skill_delete", skill_id=skill.pk, reason="Nobody waves.")["is_error"]
        is False
    )
    with acting_as(world.operator):
        assert not Skill.objects.visible_to(world.operator).exists()


def test_a_patch_needs_the_current_version_and_one_place(world: World, standin: StandIn) -> None:
    # R101
    call_tool_in_turn(world, standin, "skill_save", **RUNBOOK)
    skill = drafted_skill(world)
    old = call_tool_in_turn(
        world, standin, "skill_patch", skill_id=skill.pk, version=skill.version - 1, find="1.", replace="-"
    )
    assert "changed since you read it" in old["result"]
    twice = call_tool_in_turn(
        world, standin, "skill_patch", skill_id=skill.pk, version=skill.version, find="Say hello", replace="Wave"
    )
    assert "occurs 2 times, in the lines 2, 3" in twice["result"]
    none = call_tool_in_turn(
        world, standin, "skill_patch", skill_id=skill.pk, version=skill.version, find="1. Say hallo.", replace="-"
    )
    assert "occurs 0 times" in none["result"]
    assert "line 2: 1. Say hello." in none["result"]
    unread = call_tool_in_turn(world, standin, "skill_save", skill_id=skill.pk, body="New.")
    assert "which version you read" in unread["result"]
    assert drafted_skill(world).version == skill.version


def test_who_may_fetch_no_skill_views_none_that_is_approved(world: World, standin: StandIn) -> None:
    # R015, R101
    live = make_skill(world, "approved")
    make_grants(world, codename(Act.SKILL_FETCH))
    for name in ("get_skill", "skill_view"):
        made = call_tool_in_turn(world, standin, name, skill_id=live.pk)
        assert (made["is_error"], live.body in made["result"]) == (True, False)
    call_tool_in_turn(world, standin, "skill_save", **RUNBOOK)
    with acting_as(world.operator):
        own = Skill.objects.visible_to(world.operator).drafts().get()
    assert call_tool_in_turn(world, standin, "skill_view", skill_id=own.pk)["is_error"] is False


@pytest.mark.slow
def test_what_was_not_read_in_the_conversation_is_not_changed(world: World, standin: StandIn) -> None:
    # R101
    live, own = make_skill(world, "approved", None, **RUNBOOK), make_skill(world, name="wave")
    call_tool_in_turn(world, standin, "skill_list")
    for skill in (live, own):
        tried: dict[str, Any] = {"skill_id": skill.pk, "version": skill.version}
        for name, more in (("skill_patch", {"find": "Procedure", "replace": "x"}), ("skill_save", {"body": "New."})):
            made = call_tool_in_turn(world, standin, name, **tried, **more)
            assert made["is_error"] is True
            assert "have not read version" in made["result"]
    assert proposals(world, Proposal.Kind.SKILL_REVISION) == []
    named: dict[str, Any] = {"skill_id": live.pk, "version": live.version}
    call_tool_in_turn(world, standin, "skill_view", thread="elsewhere", skill_id=live.pk)
    assert (
        call_tool_in_turn(world, standin, "skill_patch", **named, find="1. Say hello.", replace="1. Wave.")["is_error"]
        is True
    )
    call_tool_in_turn(world, standin, "skill_view", skill_id=live.pk)
    assert (
        call_tool_in_turn(world, standin, "skill_patch", **named, find="1. Say hello.", replace="1. Wave.")["is_error"]
        is False
    )


def test_what_it_wrote_itself_it_may_change_in_the_same_turn_and_later(world: World, standin: StandIn) -> None:
    call_tool_in_turn(world, standin, "skill_save", **RUNBOOK)
    skill = drafted_skill(world)
    change = {"skill_id": skill.pk, "find": "1. Say hello.", "replace": "1. Wave."}
    again = {"skill_id": skill.pk, "version": skill.version + 1, "find": "1. Wave.", "replace": "1. Bow."}
    standin.play(tool("skill_patch", version=skill.version, **change), tool("skill_patch", **again), reply("Done."))
    made = calls(world, run_customer_turn(world, "Patch it twice.", standin))
    assert [each["is_error"] for each in made] == [False, False], made
    call_tool_in_turn(
        world, standin, "skill_patch", skill_id=skill.pk, version=skill.version + 2, find="1. Bow.", replace="1. Nod."
    )
    assert "1. Nod." in drafted_skill(world).body


def test_a_draft_that_is_saved_with_the_same_texts_is_not_called_changed(world: World, standin: StandIn) -> None:
    call_tool_in_turn(world, standin, "skill_save", **RUNBOOK)
    skill = drafted_skill(world)
    same: dict[str, Any] = {"skill_id": skill.pk, "version": skill.version, "body": RUNBOOK["body"]}
    made = call_tool_in_turn(world, standin, "skill_save", **same)
    assert made["result"].startswith(f"Nothing changed; draft {skill.pk} “{skill.name}” reads so already.")
    assert drafted_skill(world).version == skill.version
    other = call_tool_in_turn(world, standin, "skill_save", **{**same, "title": "Greet twice"})
    assert f"is changed; it is version {skill.version + 1} now" in other["result"]


@pytest.mark.slow
def test_of_an_approved_skill_the_next_version_and_its_end_wait_for_a_person(world: World, standin: StandIn) -> None:
    # R020, R101, Z-2, Z-3
    skill = make_skill(world, "approved", None, **RUNBOOK)
    seen = json.loads(call_tool_in_turn(world, standin, "skill_view", skill_id=skill.pk)["result"])
    with acting_as(world.operator):
        assert SkillUse.objects.get(skill=skill).use_count == 1
    named = {"skill_id": skill.pk, "version": seen["version"]}
    made = call_tool_in_turn(world, standin, "skill_patch", **named, find="1. Say hello.", replace="1. Wave.")
    assert "waits for an operator" in made["result"]
    assert (
        "1. Wave."
        in json.loads(call_tool_in_turn(world, standin, "skill_view", skill_id=skill.pk)["result"])["pending_body"]
    )
    call_tool_in_turn(world, standin, "skill_patch", **named, find="2. Say hello again.", replace="2. Smile.")
    [waiting] = proposals(world, Proposal.Kind.SKILL_REVISION)
    assert waiting.content["body"] == "## Procedure\n1. Wave.\n2. Smile.", "the second patch goes on from the first"
    assert waiting.base_sha256 == skill.content_sha256
    call_tool_in_turn(world, standin, "skill_delete", skill_id=skill.pk, reason="Nobody asks for it.")
    [end] = proposals(world, Proposal.Kind.SKILL_DEPRECATION)
    assert end.rationale == "Nobody asks for it."
    standing = drafted_skill(world)
    assert (standing.status, standing.body, standing.version) == (Skill.Status.APPROVED, RUNBOOK["body"], skill.version)


@pytest.mark.slow
def test_a_draft_that_a_person_or_another_wrote_is_not_its_to_see(world: World, standin: StandIn) -> None:
    # R107
    others = make_skill(world, "draft", world.operator)
    retired = make_skill(world, "deprecated")
    own = make_skill(world)
    for skill in (others, retired):
        asked: list[tuple[str, dict[str, Any]]] = [
            ("skill_view", {}),
            ("skill_delete", {"reason": "Mine."}),
            ("skill_patch", {"version": skill.version, "find": "## Procedure", "replace": "x"}),
        ]
        for name, more in asked:
            made = call_tool_in_turn(world, standin, name, skill_id=skill.pk, **more)
            assert made["is_error"] is True
            assert "no draft of yours with this id" in made["result"]
    [line] = json.loads(call_tool_in_turn(world, standin, "skill_list")["result"])["skills"]
    assert (line["id"], line["status"], line["version"]) == (own.pk, "draft", own.version)


def test_words_of_one_conversation_are_shown_in_no_other(world: World, standin: StandIn) -> None:
    # R007
    wish = "My landlord keeps a spare key beneath the blue flower pot"
    call_tool_in_turn(
        world, standin, "skill_save", wish, **{**RUNBOOK, "description": wish, "body": f"## Procedure\n1. {wish}"}
    )
    skill = drafted_skill(world)
    assert skill.taint == Taint.CUSTOMER
    assert wish in call_tool_in_turn(world, standin, "skill_view", skill_id=skill.pk)["result"]
    patch: dict[str, Any] = {"version": skill.version, "find": "1.", "replace": "2."}
    for name, more in (("skill_view", {}), ("skill_patch", patch)):
        made = call_tool_in_turn(world, standin, name, thread="another", skill_id=skill.pk, **more)
        assert made["is_error"] is True
        assert "words of another conversation" in made["result"]
    listed = call_tool_in_turn(world, standin, "skill_list", thread="another")["result"]
    assert skill.name not in listed
    assert "flower pot" not in listed


def test_a_revision_with_words_of_another_conversation_stays_as_it_is(world: World, standin: StandIn) -> None:
    # R007
    skill = make_skill(world, "approved", None, **RUNBOOK)
    wish = "My landlord keeps a spare key beneath the blue flower pot"
    named: dict[str, Any] = {"skill_id": skill.pk, "version": skill.version}
    call_tool_in_turn(world, standin, "skill_view", skill_id=skill.pk)
    call_tool_in_turn(world, standin, "skill_patch", wish, **named, find="1. Say hello.", replace=wish)
    seen = json.loads(call_tool_in_turn(world, standin, "skill_view", thread="another", skill_id=skill.pk)["result"])
    assert "words of another conversation" in seen["pending_notice"]
    assert "flower pot" not in json.dumps(seen)
    made = call_tool_in_turn(
        world, standin, "skill_patch", thread="another", **named, find="1. Say hello.", replace="1. Wave."
    )
    assert made["is_error"] is True
    [waiting] = proposals(world, Proposal.Kind.SKILL_REVISION)
    assert wish in waiting.content["body"]


def test_off_the_record_nothing_is_saved_and_looking_stays() -> None:
    # R178
    offered = {each.name for each in builtin_tools(ToolOffer(off_the_record=True, may_edit_skills=True))}
    assert offered & set(TOOLS) == {"skill_list", "skill_view"}
