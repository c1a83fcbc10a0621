"""What admins choose for a tenant and its agents, and which agents may ask which."""

from typing import Any

import pytest

from apps.governance.database.actor_transaction import acting_as
from apps.governance.errors import Conflict, Invalid, NotPermitted, NotVisible, Stale
from apps.governance.models import ChangeRecord
from apps.prompt.prompt_input import Disclosure, Flavour, SkillIndex, SlotOrder
from apps.tenants.actions import allow_invokable, amend_agent, amend_invokable, amend_settings, withdraw_invokable
from apps.tenants.models import InvokableAgent, TenantSettings
from tests.support.database.raw_sql_as_role import BROKEN_RULE, run_and_undo
from tests.support.worlds.world import World, make_invokable, make_neighbour, make_world

pytestmark = pytest.mark.django_db


@pytest.fixture
def world() -> World:
    return make_world()


def settings_of(world: World) -> TenantSettings:
    with acting_as(world.admin):
        return TenantSettings.objects.visible_to(world.admin).get()


def test_a_fresh_tenant_discloses_on_request_and_lets_the_persona_lead(world: World) -> None:
    # Z-11, Z-16
    settings = settings_of(world)
    assert Disclosure(settings.ai_disclosure) is Disclosure.ON_REQUEST
    assert SlotOrder(settings.slot_order) is SlotOrder.PERSONA_FIRST


def test_an_admin_changes_the_settings_and_an_operator_does_not(world: World) -> None:
    # Z-11, Z-16
    settings = settings_of(world)
    amend_settings(settings, actor=world.admin, ai_disclosure=Disclosure.ALWAYS.value, timezone="Europe/Berlin")
    assert (settings.ai_disclosure, settings.timezone, settings.version) == ("always", "Europe/Berlin", 2)
    with pytest.raises(NotPermitted):
        amend_settings(settings, actor=world.operator, ai_disclosure=Disclosure.NEVER_VOLUNTEER.value)
    with pytest.raises(Stale):
        amend_settings(settings, actor=world.admin, slot_order=SlotOrder.CONTRACT_FIRST.value, read_at=1)
    with acting_as(world.operator):
        assert ChangeRecord.objects.filter(act="settings.amend").count() == 1


@pytest.mark.parametrize("given", [{"timezone": "Mars"}, {"ai_disclosure": "sometimes"}, {"slot_order": "random"}])
def test_settings_that_nobody_knows_are_refused(world: World, given: dict[str, Any]) -> None:
    with pytest.raises(Invalid) as refusal:
        amend_settings(settings_of(world), actor=world.admin, **given)
    assert set(refusal.value.fields) == set(given)


@pytest.mark.parametrize("member", [*Disclosure, *SlotOrder])
def test_every_value_the_prompt_knows_can_be_chosen_for_a_tenant(world: World, member: Disclosure | SlotOrder) -> None:
    # Z-11, Z-16
    name = "ai_disclosure" if isinstance(member, Disclosure) else "slot_order"
    given: dict[str, Any] = {name: member.value}  # Any: keywords beside a version
    assert getattr(amend_settings(settings_of(world), actor=world.admin, **given), name) == member


def test_a_fresh_agent_serves_customers_at_tier_two_with_a_lazy_index(world: World) -> None:
    # R056, R060, R129, R168, Z-5
    agent = world.agent
    assert (agent.flavour, agent.context_tier, agent.skill_index) == (Flavour.DOMAIN, 2, SkillIndex.LAZY)
    assert (agent.has_current_time, agent.max_session_age_seconds) == (True, None)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("flavour", flavour.value) for flavour in Flavour),
        *(("skill_index", index.value) for index in SkillIndex),
        *(("context_tier", tier) for tier in (1, 3, 4)),
        ("has_current_time", False),
        ("max_session_age_seconds", 1),
    ],
)
def test_an_admin_chooses_what_a_session_of_an_agent_carries(world: World, name: str, value: object) -> None:
    # R056, R060, R129, R168, Z-5
    given: dict[str, Any] = {name: value}  # Any: each choice has its own kind
    assert getattr(amend_agent(world.agent, actor=world.admin, **given), name) == value
    with pytest.raises(NotPermitted):
        amend_agent(world.agent, actor=world.operator, **given)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("flavour", "friend"),
        ("skill_index", "none"),
        ("context_tier", 0),
        ("context_tier", 5),
        ("max_session_age_seconds", 0),
        ("max_session_age_seconds", -1),
    ],
)
def test_a_choice_outside_its_range_is_refused(world: World, name: str, value: object) -> None:
    # R056, R129, R168, Z-5
    given: dict[str, Any] = {name: value}  # Any: each choice has its own kind
    with pytest.raises(Invalid) as refusal:
        amend_agent(world.agent, actor=world.admin, **given)
    assert set(refusal.value.fields) == {name}


@pytest.mark.parametrize(("column", "bad", "good"), [("context_tier", 5, 4), ("max_session_age_seconds", 0, 1)])
def test_the_database_refuses_such_a_choice_too(world: World, column: str, bad: int, good: int) -> None:
    # R168, Z-5
    choose = f"UPDATE tenants_agent SET {column} = %s"  # noqa: S608  # names above
    assert run_and_undo(world.admin, choose, [bad]).sqlstate == BROKEN_RULE
    assert run_and_undo(world.admin, choose, [good]).passed


def test_people_say_which_agent_another_may_ask(world: World) -> None:
    # R057
    invokable = make_invokable(world)
    assert (invokable.agent_id, invokable.role_hint) == (world.agent.pk, "Knows every invoice.")
    amend_invokable(invokable, actor=world.operator, role_hint="Knows refunds.", read_at=1)
    assert (invokable.role_hint, invokable.version) == ("Knows refunds.", 2)
    withdraw_invokable(invokable, actor=world.operator)
    with acting_as(world.operator):
        assert not InvokableAgent.objects.visible_to(world.operator).exists()
        acts = list(ChangeRecord.objects.filter(act__startswith="invokable").values_list("act", flat=True))
    assert acts == ["invokable.withdraw", "invokable.amend", "invokable.allow"]


def test_an_agent_may_ask_another_once_and_itself_never(world: World) -> None:
    # R057
    invokable = make_invokable(world)
    with pytest.raises(Conflict, match="may ask that one already"):
        allow_invokable(world.agent.pk, invokable.callee_id, actor=world.operator)
    with pytest.raises(Invalid, match="An agent cannot ask itself"):
        allow_invokable(world.agent.pk, world.agent.pk, actor=world.operator)
    assert allow_invokable(invokable.callee_id, world.agent.pk, actor=world.operator).pk


def test_nobody_may_ask_an_agent_of_another_tenant(world: World) -> None:
    # R006, R057
    stranger = make_world().agent
    for pair in ((world.agent.pk, stranger.pk), (stranger.pk, world.agent.pk)):
        with pytest.raises(Invalid, match="refers to a row that does not exist"):
            allow_invokable(*pair, actor=world.operator)


def test_a_hint_is_plain_and_short(world: World) -> None:
    # R057
    invokable = make_invokable(world, role_hint="x" * 300)
    for hint in ("x" * 301, "a\x00b"):
        with pytest.raises(Invalid) as refusal:
            amend_invokable(invokable, actor=world.operator, role_hint=hint)
        assert set(refusal.value.fields) == {"role_hint"}


def test_an_agent_reads_whom_it_may_ask_and_not_whom_others_may(world: World) -> None:
    # R014, R057
    mine = make_invokable(world)
    theirs = allow_invokable(mine.callee_id, make_neighbour(world, "legal").pk, actor=world.operator)
    with acting_as(world.bot):
        assert list(InvokableAgent.objects.visible_to(world.bot)) == [mine]
    with acting_as(world.system):
        callees = InvokableAgent.objects.visible_to(world.system).filter(agent=world.agent).values_list("callee__key")
        assert list(callees) == [("billing",)]
    with pytest.raises(NotPermitted):
        amend_invokable(mine, actor=world.bot, role_hint="Mine.")
    with pytest.raises(NotVisible):
        withdraw_invokable(theirs, actor=make_world().operator)
