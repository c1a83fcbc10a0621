"""A learning version that turned out wrong is taken out for good: by a person, from every conversation (R146)."""

import pytest

from apps.governance.database.actor_transaction import acting_as
from apps.governance.errors import IllegalTransition, Invalid, NotPermitted
from apps.governance.models import ChangeRecord
from apps.learning.digest.pipeline import digest_agent_lessons
from apps.learning.lessons.actions import restore_version, retire_version, withdraw_version
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
    enable_auto_apply,
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


def test_a_rejected_version_is_read_by_nobody(world: World, standin: StandIn) -> None:
    # R149
    make_version(world, "rejected", "- Say Ahoy.")
    run_customer_turn(world, "Hello", standin)
    assert "Ahoy" not in str(standin.requests()[-1])
