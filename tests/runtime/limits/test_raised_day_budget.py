"""Turns that wait for the day's budget: a raised budget wakes them at once, and a person may run one now."""

from datetime import timedelta

import pytest
from django.db.models.functions import Now

from apps.governance.database.actor_transaction import acting_as
from apps.governance.errors import Conflict, NotPermitted, Stale
from apps.kill_switches.actions import activate_kill_switch
from apps.kill_switches.models import KillSwitch
from apps.runtime.models import Turn
from apps.runtime.turns.run_now import run_turn_now
from apps.runtime.worker.sync_driver import answer_conversation
from apps.tenants.due_work import due_work
from apps.tenants.models import TenantSettings
from tests.support.drivers.console_client import decide, page_of, page_words, save_form, signed_in
from tests.support.drivers.conversation import turn_of
from tests.support.drivers.rest_client import person_client
from tests.support.factories.delayed_turns import UncalledModel, delay_turn, set_day_budget, spend_day_budget
from tests.support.factories.desk import make_delayed_conversation
from tests.support.servers.standin_model import StandIn
from tests.support.worlds.world import World, make_world

pytestmark = pytest.mark.django_db


@pytest.fixture
def world() -> World:
    world = make_world()
    spend_day_budget(world)
    return world


def is_due(turn: Turn) -> bool:
    return (turn.tenant_id, turn.conversation_id) in due_work("turns")


def test_raised_budget_makes_delayed_turns_due_and_they_are_answered(world: World, standin: StandIn) -> None:
    event, turn = delay_turn(world, "Where is my parcel?")
    assert not is_due(turn)
    set_day_budget(world, None)
    assert is_due(turn)
    answer_conversation(world.tenant.pk, turn.conversation_id, backend=standin.backend)
    assert turn_of(world, event).status == Turn.Status.DONE


@pytest.mark.parametrize("surface", ["console", "rest"])
def test_budget_raised_on_a_surface_wakes_delayed_turns(world: World, surface: str) -> None:
    _, turn = delay_turn(world, "Where is my parcel?")
    if surface == "rest":
        admin = person_client(world.admin_user)
        [row] = admin.get("settings/").body["results"]
        assert admin.patch(f"settings/{row['id']}/", {"day_budget_micro_usd": 1_000_000}).status == 200
    else:
        with acting_as(world.admin):
            row = TenantSettings.objects.visible_to(world.admin).get()
        saved = save_form(signed_in(world.admin_user), page_of(row), day_budget_micro_usd="1000000")
        assert saved.status_code in {302, 303}
    assert is_due(turn)


def test_turn_that_is_delayed_again_waits_for_its_next_attempt(world: World) -> None:
    event, turn = delay_turn(world, "Where is my parcel?")
    set_day_budget(world, 999)
    assert is_due(turn)
    answer_conversation(world.tenant.pk, turn.conversation_id, backend=UncalledModel())
    assert turn_of(world, event).failure_code == "day_budget_spent"
    assert not is_due(turn)


def test_settings_wake_no_turn_that_waits_for_something_else(world: World) -> None:
    conversation = make_delayed_conversation(world)
    set_day_budget(world, None)
    assert (world.tenant.pk, conversation.pk) not in due_work("turns")


def test_person_runs_a_delayed_turn_now_in_the_console(world: World, standin: StandIn) -> None:
    operator = signed_in(world.operator_user)
    conversation = make_delayed_conversation(world)
    set_day_budget(world, None)
    assert "Run now" in page_words(operator.get(page_of(conversation)))
    assert decide(operator, conversation, "run_now").status_code == 303
    assert (world.tenant.pk, conversation.pk) in due_work("turns")
    answer_conversation(world.tenant.pk, conversation.pk, backend=standin.backend)
    assert "Run now" not in page_words(operator.get(page_of(conversation)))


def test_person_runs_a_delayed_turn_now_by_rest(world: World) -> None:
    conversation = make_delayed_conversation(world)
    set_day_budget(world, None)
    ran = person_client(world.operator_user).post(f"conversations/{conversation.pk}/run-now/", {})
    assert ran.status == 200
    assert (world.tenant.pk, conversation.pk) in due_work("turns")


def test_turn_is_not_run_now_while_the_budget_is_spent(world: World) -> None:
    event, _ = delay_turn(world, "Where is my parcel?")
    with pytest.raises(Conflict, match="Raise it in the settings"):
        run_turn_now(event.conversation, actor=world.operator)


def test_turn_is_not_run_now_while_its_agent_is_paused(world: World) -> None:
    conversation = make_delayed_conversation(world)
    set_day_budget(world, None)
    activate_kill_switch(KillSwitch.Kind.PAUSE_AGENT, actor=world.operator, reason="Check.", agent_id=world.agent.pk)
    with pytest.raises(Conflict, match="Lift the switch"):
        run_turn_now(conversation, actor=world.operator)


def test_only_people_run_a_turn_now_and_only_a_delayed_one(world: World) -> None:
    conversation = make_delayed_conversation(world)
    set_day_budget(world, None)
    with pytest.raises(Stale):
        run_turn_now(conversation, actor=world.operator, read_at=conversation.version + 1)
    with pytest.raises(NotPermitted):
        run_turn_now(conversation, actor=world.bot)
    with acting_as(world.system):
        Turn.objects.filter(conversation=conversation).update(
            is_released=False, lease_until=Now() + timedelta(minutes=1)
        )
    with pytest.raises(Conflict, match="No answer is delayed"):
        run_turn_now(conversation, actor=world.operator)
