"""What becomes of skills: revised, deprecated, or drafted afresh; never approved by being restored (R092, R093)."""

import pytest
from django.utils import timezone

from apps.governance.errors import IllegalTransition
from apps.governance.models import Taint
from apps.governance.policy.policy_table import Act
from apps.restore.plan import RowTarget, make_restore_plan
from apps.review.skill_actions import approve_skill
from apps.skills.actions import (
    amend_skill,
    deprecate_skill,
    detach_file,
    discard_skill,
    redraft_skill,
    revise_skill,
)
from apps.skills.attachment_upload import upload_file
from apps.skills.models import Skill
from apps.skills.quarantine import quarantine_skill
from tests.restore.restore_scenario import agent_target, current_prompt, get_only_row, plan_lines, restore_target
from tests.support.database.raw_sql_as_role import BROKEN_RULE, run_and_undo
from tests.support.worlds.world import World, make_skill, make_skill_with_file, make_world


@pytest.fixture
def world(db: None) -> World:
    return make_world()


def test_an_approved_skill_is_revised_to_its_old_bytes_signed_by_who_restores(world: World) -> None:
    skill = make_skill(world, "approved", title="Issue a refund")
    old, moment = skill.content_sha256, timezone.now()
    revise_skill(skill, actor=world.admin, values={"body": "Refuse.", "name": "refuse"})
    restore_target(agent_target(world, moment), world.operator)
    back = get_only_row(world, Skill)
    assert (back.content_sha256, back.approved_sha256, back.status) == (old, old, "approved")
    assert (back.approved_by, back.name, back.taint) == (world.operator.label, "issue-a-refund", Taint.AGENT)


@pytest.mark.slow
def test_what_is_deprecated_comes_back_as_a_draft_that_a_person_approves(world: World) -> None:  # R092
    skill = make_skill(world, "approved", title="Issue a refund")
    moment, before = timezone.now(), current_prompt(world)
    deprecate_skill(skill, actor=world.admin)
    found, _ = restore_target(agent_target(world, moment), world.operator)
    assert plan_lines(found) == [
        (
            "skill.redraft Skill “issue-a-refund” of agent support: Make it a draft again with its text from that time, under"
            " its name “issue-a-refund”"
        )
    ]
    assert "A restore approves nothing: it waits for the approval" in found.notes[0].description
    again = get_only_row(world, Skill, pk=skill.pk)
    assert (again.status, again.name, again.version, again.approved_by) == ("draft", "issue-a-refund", 4, "")
    assert current_prompt(world) != before
    approve_skill(again, actor=world.operator, reviewed_sha256=again.content_sha256)
    assert current_prompt(world) == before
    assert make_restore_plan(agent_target(world, moment), actor=world.operator).steps == ()


def test_a_restore_of_a_deprecated_skill_is_undone_by_a_restore(world: World) -> None:
    skill = make_skill(world, "approved", title="Issue a refund")
    moment = timezone.now()
    deprecate_skill(skill, actor=world.admin)
    gone, without = timezone.now(), current_prompt(world)
    restore_target(agent_target(world, moment), world.operator)
    found = make_restore_plan(agent_target(world, gone), actor=world.operator)
    assert (found.steps, "made a draft again since" in found.notes[0].description) == ((), True)
    again = get_only_row(world, Skill, pk=skill.pk)
    approve_skill(again, actor=world.operator, reviewed_sha256=again.content_sha256)
    found, _ = restore_target(agent_target(world, gone), world.operator)
    assert plan_lines(found) == [
        "skill.deprecate Skill “issue-a-refund” of agent support: Deprecate it: it was deprecated then"
    ]
    assert current_prompt(world) == without


def test_a_deprecated_skill_whose_name_another_one_has_now_keeps_its_own(world: World) -> None:
    skill = make_skill(world, "approved", title="Issue a refund")
    moment = timezone.now()
    revise_skill(skill, actor=world.admin, values={"name": "pay-back"})
    deprecate_skill(skill, actor=world.admin)
    make_skill(world, title="Issue a refund", body="Another one.")
    found, _ = restore_target(agent_target(world, moment), world.operator)
    [step] = [step for step in found.steps if step.act == Act.SKILL_REDRAFT]
    assert "under its name “pay-back”, because another skill is called “issue-a-refund” now" in step.description
    assert get_only_row(world, Skill, pk=skill.pk).name == "pay-back"


def test_a_quarantined_skill_is_released_before_it_is_restored(world: World) -> None:
    skill = make_skill(world, "approved")
    moment = timezone.now()
    deprecate_skill(skill, actor=world.admin)
    quarantine_skill(skill, actor=world.admin, reason="Odd.")
    found = make_restore_plan(agent_target(world, moment), actor=world.operator)
    assert (found.steps, "Release it first" in found.notes[0].description) == ((), True)


def test_a_rejected_draft_becomes_no_draft_again(world: World) -> None:
    skill = make_skill(world)
    deprecate_skill(skill, actor=world.admin)
    with pytest.raises(IllegalTransition, match="was rejected and never approved"):
        redraft_skill(skill, actor=world.operator, values={})
    again = "UPDATE skills_skill SET status = 'draft' WHERE id = %s"
    assert run_and_undo(world.operator, again, [skill.pk]).sqlstate == BROKEN_RULE


def test_a_draft_of_then_that_was_approved_since_leaves_the_index_and_waits_again(world: World) -> None:
    skill = make_skill(world, title="Issue a refund")
    moment, before = timezone.now(), current_prompt(world)
    approve_skill(
        skill, actor=world.admin, reviewed_sha256=skill.content_sha256, confirm_findings=True, reason="Opened."
    )
    found, _ = restore_target(agent_target(world, moment), world.operator)
    assert [step.act.value for step in found.steps] == ["skill.deprecate", "skill.redraft"]
    assert current_prompt(world) == before
    assert get_only_row(world, Skill, status="draft").body == skill.body


def test_a_draft_is_reworded_in_place_and_a_discarded_one_is_drafted_anew(world: World) -> None:
    kept, gone = make_skill(world, title="One"), make_skill(world, title="Two")
    moment = timezone.now()
    amend_skill(kept, actor=world.operator, values={"body": "Changed."})
    discard_skill(gone, actor=world.bot)
    found, _ = restore_target(agent_target(world, moment), world.operator)
    assert plan_lines(found) == [
        "skill.amend Skill “one” of agent support: Change body",
        "skill.draft Skill “two” of agent support: Create a new draft of its text from that time, as “two”",
    ]
    assert get_only_row(world, Skill, name="two").status == "draft"


def test_a_draft_that_was_rejected_since_stays_rejected(world: World) -> None:
    skill = make_skill(world)
    moment = timezone.now()
    deprecate_skill(skill, actor=world.operator)
    found = make_restore_plan(agent_target(world, moment), actor=world.operator)
    assert (found.steps, found.notes[0].description.startswith("It was a draft then and was rejected since.")) == (
        (),
        True,
    )


def test_what_was_deprecated_then_already_is_left_alone(world: World) -> None:
    make_skill(world, "deprecated")
    moment = timezone.now()
    found = make_restore_plan(agent_target(world, moment), actor=world.operator)
    assert (found.steps, found.notes) == ((), ())


def test_a_name_that_is_another_skills_now_is_not_taken_from_it(world: World) -> None:
    skill = make_skill(world, "approved", title="Issue a refund")
    moment = timezone.now()
    revise_skill(skill, actor=world.admin, values={"name": "pay-back", "body": "Changed."})
    make_skill(world, title="Issue a refund")
    found, _ = restore_target(agent_target(world, moment), world.operator)
    assert "Another skill has its former name, “issue-a-refund”" in found.notes[0].description
    assert get_only_row(world, Skill, pk=skill.pk).name == "pay-back"


def test_one_skill_goes_back_to_a_version(world: World) -> None:
    skill = make_skill(world, "approved")
    old = skill.body
    revise_skill(skill, actor=world.admin, values={"body": "Changed."})
    restore_target(RowTarget(Skill, skill.pk, 2), world.operator)
    assert get_only_row(world, Skill).body == old
    deprecate_skill(get_only_row(world, Skill), actor=world.admin)
    found, _ = restore_target(RowTarget(Skill, skill.pk, 2), world.operator)
    assert [step.act.value for step in found.steps] == ["skill.redraft"]


def test_files_come_back_in_their_order_and_those_that_came_since_go(world: World) -> None:  # R091
    skill = make_skill_with_file(world)
    upload_file(skill, actor=world.bot, name="form.txt", content=b"Name:")
    approve_skill(
        skill, actor=world.operator, reviewed_sha256=skill.content_sha256, confirm_findings=True, reason="Opened."
    )
    old, moment = skill.content_sha256, timezone.now()
    detach_file(skill, actor=world.admin, name="prices.csv")
    upload_file(skill, actor=world.admin, name="new.txt", content=b"New.")
    found, _ = restore_target(agent_target(world, moment), world.operator)
    assert [step.description for step in found.steps] == [
        "Remove the file new.txt",
        "Add the file prices.csv again",
        "Restore the former order of the files",
    ]
    assert get_only_row(world, Skill).content_sha256 == get_only_row(world, Skill).approved_sha256 == old


def test_a_fresh_draft_brings_the_files_along(world: World) -> None:
    skill = make_skill_with_file(world, "approved")
    moment = timezone.now()
    deprecate_skill(skill, actor=world.admin)
    restore_target(agent_target(world, moment), world.operator)
    assert [file.name for file in get_only_row(world, Skill, status="draft").files] == ["prices.csv"]
