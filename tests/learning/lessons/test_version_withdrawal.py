"""A learning version that turned out wrong is taken out for good: by a person, from every conversation (R146)."""

from dataclasses import replace

import pytest

from apps.governance.database.actor_transaction import acting_as
from apps.governance.errors import IllegalTransition, Invalid, NotPermitted
from apps.governance.models import ChangeRecord
from apps.governance.policy.policy_table import Act, codename
from apps.learning.digest.pipeline import digest_agent_lessons
from apps.learning.lessons.actions import restore_version, retire_version, withdraw_version
from apps.learning.lessons.lesson_capture import capture_agent_lessons
from apps.learning.lessons.models import LearningVersion
from apps.learning.lessons.rules import VERSIONS_KEPT
from apps.runtime.explain.turn_retrieval import retrieval_of
from apps.runtime.models import Turn
from apps.tenants.actions import amend_agent
from tests.support.database.raw_sql_as_role import BROKEN_RULE, NO_RIGHT, run_and_undo
from tests.support.drivers.conversation import run_customer_turn
from tests.support.factories.lessons import (
    QUARANTINE_REASON,
    SENT_TEXT,
    cases_of,
    enable_auto_apply,
    lessons_of,
    make_lesson,
    make_version,
    versions_of,
)
from tests.support.servers.standin_model import StandIn
from tests.support.worlds.world import World, make_world

pytestmark = pytest.mark.django_db
Status = LearningVersion.Status


@pytest.fixture
def world() -> World:
    return make_world()


def bullets_shown(world: World, turn: Turn) -> int:
    with acting_as(world.operator):
        return retrieval_of(Turn.objects.get(pk=turn.pk)).bullet_count


@pytest.mark.parametrize("status", ["active", "retired"])
def test_a_person_alone_withdraws_a_version_and_for_good(world: World, status: str) -> None:
    # R146, R149: by the act, and by PostgreSQL.
    version = make_version(world, status)
    with pytest.raises(Invalid):
        withdraw_version(version, actor=world.operator, reason=" ")
    raw = "UPDATE learning_learningversion SET status = 'withdrawn'"
    for actor in (world.bot, world.system):
        with pytest.raises(NotPermitted):
            withdraw_version(version, actor=actor, reason=QUARANTINE_REASON)
        assert run_and_undo(actor, raw).sqlstate == NO_RIGHT
    withdraw_version(version, actor=world.operator, reason=QUARANTINE_REASON)
    with acting_as(world.operator):
        record = ChangeRecord.objects.filter(subject_type="learning.learningversion").latest("id")
    assert (record.act, record.actor_label) == ("learning_version.withdraw", world.operator.label)
    assert [each.status for each in versions_of(world)] == [Status.WITHDRAWN], "nothing is active"
    with pytest.raises(IllegalTransition):
        restore_version(version, actor=world.operator)
    back = "UPDATE learning_learningversion SET status = 'active', approved_by = 'x', approved_at = now()"
    assert run_and_undo(world.operator, back).sqlstate == BROKEN_RULE


@pytest.mark.parametrize("status", ["pending", "rejected"])
def test_what_was_never_read_is_not_withdrawn(world: World, status: str) -> None:
    with pytest.raises(IllegalTransition):
        withdraw_version(make_version(world, status), actor=world.operator, reason=QUARANTINE_REASON)


def test_withdrawn_versions_stay_beside_the_twenty(world: World) -> None:
    # R148
    first = make_version(world, "withdrawn")
    for _ in range(VERSIONS_KEPT + 1):
        make_version(world, "rejected")
    kept = versions_of(world)
    assert len(kept) == VERSIONS_KEPT + 1
    assert kept[0] == first
    assert (
        run_and_undo(world.system, "DELETE FROM learning_learningversion WHERE status = 'withdrawn'").sqlstate
        == BROKEN_RULE
    )


@pytest.mark.slow
@pytest.mark.parametrize("is_retired", [False, True], ids=["active", "retired"])
def test_a_withdrawn_version_is_read_by_no_turn_nor_comes_back_with_the_history(
    world: World, standin: StandIn, is_retired: bool
) -> None:
    # R146: pinned or not.
    version = make_version(world, "active", "- Say Ahoy.")
    first = run_customer_turn(world, "Hello", standin, thread="old")
    assert "Say Ahoy." in str(standin.requests()[-1])
    if is_retired:
        retire_version(version, actor=world.operator)
    withdraw_version(versions_of(world)[0], actor=world.operator, reason=QUARANTINE_REASON)
    turn = run_customer_turn(world, "And?", standin, thread="old")
    assert "Ahoy" not in str(standin.requests()[-1])
    assert "corrections taught you" not in str(standin.requests()[-1])
    contents = [message["content"] for message in standin.requests()[-1]["messages"]]
    assert "Hello" in str(contents[0]), "what the customer wrote stays"
    assert bullets_shown(world, turn) == 0
    assert bullets_shown(world, first) == 1, "the journal keeps what was shown"
    run_customer_turn(world, "Hello", standin, thread="new")
    assert "Ahoy" not in str(standin.requests()[-1])
    run_customer_turn(world, "And now?", standin, thread="old")
    assert "Ahoy" not in str(standin.requests()[-1])


@pytest.mark.slow
def test_bullets_shown_as_data_first_and_as_prose_later_both_leave_the_history(world: World, standin: StandIn) -> None:
    # R146, R149: the settings let it be read, then a person took it up again.
    enable_auto_apply(world)
    make_lesson(world, cases=2)
    digest_agent_lessons(world.agent.pk, actor=world.system, backend=standin.backend)
    [version] = versions_of(world)
    run_customer_turn(world, "Hello", standin, thread="old", customer="http:ann")
    retire_version(version, actor=world.operator)
    restore_version(versions_of(world)[0], actor=world.operator)
    run_customer_turn(world, "And?", standin, thread="old", customer="http:ann")
    assert str(standin.requests()[-1]["messages"]).count(SENT_TEXT) == 2
    withdraw_version(versions_of(world)[0], actor=world.operator, reason=QUARANTINE_REASON)
    amend_agent(world.agent, actor=world.admin, has_learning=False)
    run_customer_turn(world, "And now?", standin, thread="old", customer="http:ann")
    assert SENT_TEXT not in str(standin.requests()[-1])


def test_a_read_that_misses_the_cache_because_of_a_withdrawal_says_so(world: World, standin: StandIn) -> None:
    # R146
    version = make_version(world, "active", "- Say Ahoy.")
    run_customer_turn(world, "Hello " * 3000, standin, thread="old")
    withdraw_version(version, actor=world.operator, reason=QUARANTINE_REASON)
    turn = run_customer_turn(world, "And?", standin, thread="old")
    with acting_as(world.operator):
        [call] = turn.calls.all()
    assert call.cache_ledger["miss"]["cause"] == "learning_withdrawn"


def statuses_of(world: World) -> list[str]:
    return [version.status for version in versions_of(world)]


def test_versions_with_a_withdrawn_bullet_go_with_it_by_a_record_each(world: World) -> None:
    # R146
    first = make_version(world, "active", "- Say Ahoy.\n- Be brief.")
    for status, body in (
        ("retired", "- Name the order number."),
        ("rejected", "- Say Ahoy."),
        ("active", "- Say Ahoy.\n- Name the order number."),
        ("pending", "- Always say Ahoy to customers."),
    ):
        make_version(world, status, body)
    withdraw_version(versions_of(world)[0], actor=world.operator, reason=QUARANTINE_REASON)
    assert statuses_of(world) == ["withdrawn", "retired", "rejected", "withdrawn", "rejected"]
    _, _, _, active, pending = versions_of(world)
    with acting_as(world.operator):
        found = ChangeRecord.objects.filter(evidence__withdrawn_with_version_id=first.pk).order_by("id")
        copies = [(record.act, record.subject_id, record.text.reason) for record in found]
        [record] = ChangeRecord.objects.filter(subject_id=first.pk, act="learning_version.withdraw")
    reason = f"It repeats a bullet of version 1, which is withdrawn: {QUARANTINE_REASON}"
    assert copies == [
        ("learning_version.withdraw", active.pk, reason),
        ("learning_version.reject", pending.pk, reason),
    ]
    assert record.evidence == {"withdrawn_copy_ids": [active.pk, pending.pk], "staying_version_ids": []}


def test_a_version_that_a_person_keeps_stays_and_the_record_names_it(world: World) -> None:
    # R146
    first = make_version(world, "active", "- Say Ahoy.")
    second = make_version(world, "active", "- Say Ahoy.\n- Be brief.")
    first = versions_of(world)[0]
    withdraw_version(first, actor=world.operator, reason=QUARANTINE_REASON, staying_version_ids=[second.pk])
    assert statuses_of(world) == ["withdrawn", "active"]
    with acting_as(world.operator):
        record = ChangeRecord.objects.filter(subject_type="learning.learningversion").latest("id")
    assert record.evidence == {"withdrawn_copy_ids": [], "staying_version_ids": [second.pk]}


def test_a_version_without_its_bullets_cannot_be_named_as_staying(world: World) -> None:
    first = make_version(world, "active", "- Say Ahoy.")
    other = make_version(world, "pending", "- Be brief.")
    with pytest.raises(Invalid) as refused:
        withdraw_version(first, actor=world.operator, reason=QUARANTINE_REASON, staying_version_ids=[other.pk])
    assert f"Version {other.pk} has none of its bullets" in str(refused.value.fields)
    assert statuses_of(world) == ["active", "pending"]


def test_nothing_is_withdrawn_if_a_copy_may_not_be(world: World) -> None:
    # One commit: a person without the right to reject keeps the pending copy, or changes nothing.
    first = make_version(world, "active", "- Say Ahoy.")
    copy = make_version(world, "pending", "- Say Ahoy.\n- Be brief.")
    operator = replace(world.operator, grants=world.operator.grants - {codename(Act.LEARNING_VERSION_REJECT)})
    with pytest.raises(NotPermitted):
        withdraw_version(first, actor=operator, reason=QUARANTINE_REASON)
    assert statuses_of(world) == ["active", "pending"]
    withdraw_version(versions_of(world)[0], actor=operator, reason=QUARANTINE_REASON, staying_version_ids=[copy.pk])
    assert statuses_of(world) == ["withdrawn", "pending"]


def test_a_withdrawal_teaches_one_lesson_whatever_goes_with_it(world: World) -> None:
    # R138, R146
    make_version(world, "active", "- Say Ahoy.")
    make_version(world, "active", "- Say Ahoy.\n- Be brief.")
    make_version(world, "pending", "- Say Ahoy.\n- Be kind.")
    withdraw_version(versions_of(world)[0], actor=world.operator, reason=QUARANTINE_REASON)
    capture_agent_lessons(world.agent.pk, actor=world.system)
    [lesson] = lessons_of(world)
    assert (lesson.correction, lesson.support_count) == (QUARANTINE_REASON, 1)
    assert [case.lesson_id is None for case in cases_of(world)] == [False, True, True]


@pytest.mark.slow
def test_a_conversation_that_began_with_a_copy_reads_the_bullet_no_more(world: World, standin: StandIn) -> None:
    # R146
    first = make_version(world, "active", "- Say Ahoy.")
    make_version(world, "active", "- Say Ahoy.\n- Be brief.")
    run_customer_turn(world, "Hello", standin, thread="old")
    assert "Say Ahoy." in str(standin.requests()[-1])
    withdraw_version(versions_of(world)[0], actor=world.operator, reason=QUARANTINE_REASON)
    assert first.number == 1
    run_customer_turn(world, "And?", standin, thread="old")
    assert "Ahoy" not in str(standin.requests()[-1])


def test_a_rejected_version_is_read_by_nobody(world: World, standin: StandIn) -> None:
    # R149
    make_version(world, "rejected", "- Say Ahoy.")
    run_customer_turn(world, "Hello", standin)
    assert "Ahoy" not in str(standin.requests()[-1])
