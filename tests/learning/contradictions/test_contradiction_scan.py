"""The nightly look at what an agent goes by: one row for each pair, which people dismiss and which goes by itself (R089)."""

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from django.utils import timezone

from apps.governance.database.actor_transaction import acting_as
from apps.governance.errors import Invalid, NotVisible
from apps.governance.models import ChangeRecord
from apps.learning.contradictions.actions import dismiss_contradiction, reopen_contradiction
from apps.learning.contradictions.models import Contradiction, ContradictionScan
from apps.learning.contradictions.rules import latest_scan_date
from apps.learning.contradictions.scan_runs import ScanExtent, claim_scan, end_scan, request_scan
from apps.memory.actions import amend_memory
from apps.memory.line_dates import set_memory_line_dates
from apps.personas.actions import amend_rule
from apps.prompt.memory_lines.line_expiry import LineDates
from apps.prompt.text_reuse.derived_lines import NO_RECEIVED_TEXTS
from apps.runtime.contradiction_scan import run_scheduled_scan, scan_agent
from apps.skills.actions import deprecate_skill
from apps.tenants.actions import create_agent
from apps.tenants.due_work import due_work
from tests.support.database.raw_sql_as_role import NO_RIGHT, run_and_undo
from tests.support.factories.contradictions import (
    DISMISSAL_REASON,
    NEVER_RULE,
    PROMISE,
    contradictions_of,
    make_contradicting_rules,
    run_scan,
)
from tests.support.factories.memory_tiers import make_tier
from tests.support.worlds.world import World, make_block, make_memory, make_persona, make_rule, make_skill, make_world

pytestmark = pytest.mark.django_db

THIRTY = "Refunds are possible within 30 days of purchase."
TWO_WEEKS = "Refunds are possible within two weeks of purchase."
EXPIRED_DATES = LineDates(valid_until=datetime(2020, 1, 1, tzinfo=UTC))


@pytest.fixture
def world() -> World:
    return make_world()


def rescan(world: World) -> None:
    """A look that a person asks for."""
    assert scan_agent(world.agent.pk, actor=world.system, now=timezone.now(), at_once=True) is not None


def states(world: World) -> list[str]:
    return [str(row.status) for row in contradictions_of(world)]


def agent_scan(world: World) -> ContradictionScan:
    with acting_as(world.operator):
        return ContradictionScan.objects.get(agent=world.agent)


def acts(world: World) -> list[str]:
    with acting_as(world.operator):
        found = ChangeRecord.objects.filter(subject_type="learning.contradiction").order_by("id")
        return list(found.values_list("act", flat=True))


def test_what_cannot_both_be_right_is_kept_once_with_both_sides(world: World) -> None:
    rule, memory = make_rule(world, THIRTY), make_memory(world, f"Parking is free.\n{TWO_WEEKS}")
    run_scan(world)
    rescan(world)
    [row] = contradictions_of(world)
    assert (row.kind, row.status, row.taint) == ("amount", "open", "customer")
    assert {(row.first_type, row.first_id), (row.second_type, row.second_id)} == {
        ("rule", rule.pk),
        ("memory", memory.pk),
    }
    assert {f"{row.first_text}.", f"{row.second_text}."} == {THIRTY, TWO_WEEKS}
    assert acts(world) == ["contradiction.find"]
    kept = agent_scan(world)
    assert (kept.text_count, kept.is_complete, kept.scanned_at is not None) == (2, True, True)


def test_every_kind_of_text_is_read_and_what_fits_is_not_pointed_out(world: World) -> None:
    make_persona(world, avoid="Discounts over 10 %.", goals="Call `charge_card` often.")
    make_block(world, "Unpinned", is_pinned=False, body=THIRTY)
    make_block(world, body="We ship to the EU only.")
    body = (
        "## When to Use\nA customer complains.\n\n## Procedure\n1. Offer a discount of 25 %.\n2. Call `list_skills`.\n"
    )
    make_skill(world, "approved", body=f"{body}3. Call `find_parcel`.\n")
    make_skill(world, body=f"## Procedure\n1. {TWO_WEEKS}\n")
    rescan(world)
    found = {
        (row.kind, row.first_location.split(" ")[1], row.second_type, row.conflicting_words)
        for row in contradictions_of(world)
    }
    assert {("tool", "persona", "", "charge_card"), ("tool", "skill", "", "find_parcel")} <= found
    [(first, other)] = [(where, other) for kind, where, other, _ in found if kind == "avoided"]
    assert (first, other) == ("persona", "skill")
    assert len(found) == 3


def test_two_runbooks_for_one_situation_with_different_steps_are_pointed_out(world: World) -> None:
    when = "## When to Use\nWhen a parcel is lost.\n\n## Procedure\n"
    for step in ("When a parcel is lost, open a trace.", "If the parcel is lost, refund the order."):
        make_skill(world, "approved", body=f"{when}1. {step}\n")
    rescan(world)
    assert [(row.kind, row.first_type, row.second_type) for row in contradictions_of(world)] == [
        ("steps", "skill", "skill")
    ]


@pytest.mark.parametrize("is_held", [False, True])
def test_distilled_memory_is_read_where_it_stands(world: World, is_held: bool) -> None:  # parametrised
    make_rule(world, THIRTY)
    make_tier(world, TWO_WEEKS, is_held=is_held)
    rescan(world)
    assert [row.second_type for row in contradictions_of(world)] == ([] if is_held else ["tier"])


def test_counts_of_the_session_log_contradict_nothing(world: World) -> None:
    make_tier(world, "10:31 mail: solved, 2 messages", "10:38 mail: solved, 1 message", tier="short")
    make_memory(world, "A conversation has 3 messages.")
    rescan(world)
    assert contradictions_of(world) == []


def test_a_look_that_reaches_its_limit_takes_nothing_for_gone(world: World) -> None:
    memory = make_memory(world, TWO_WEEKS)
    make_rule(world, THIRTY)
    rescan(world)
    amend_memory(memory, actor=world.bot, body="Parking is free.", heard=NO_RECEIVED_TEXTS)
    skill = make_skill(world, "approved", body="\n" * 10_000 + "## Procedure\n1. Say hello.\n")
    rescan(world)
    assert (states(world), agent_scan(world).is_complete, agent_scan(world).text_count) == (["open"], False, 2)
    deprecate_skill(skill, actor=world.operator)
    rescan(world)
    assert (states(world), agent_scan(world).is_complete) == (["gone"], True)


def test_a_line_that_holds_no_more_contradicts_nothing(world: World) -> None:
    make_rule(world, THIRTY)
    memory = make_memory(world, f"Parking is free.\n{TWO_WEEKS}")
    rescan(world)
    set_memory_line_dates(memory, actor=world.operator, line=TWO_WEEKS, dates=EXPIRED_DATES)
    rescan(world)
    [row] = contradictions_of(world)
    assert (row.status, row.last_seen_at is not None) == ("gone", True)


def test_what_was_changed_is_gone_and_what_comes_back_is_open_again(world: World) -> None:
    make_rule(world, NEVER_RULE)
    rule = make_rule(world, PROMISE)
    rescan(world)
    before = agent_scan(world).scanned_at
    [row] = contradictions_of(world)
    amend_rule(rule, actor=world.operator, values={"text": "Greet every customer."})
    rescan(world)
    [gone] = contradictions_of(world)
    assert (gone.status, gone.last_seen_at) == ("gone", before)
    amend_rule(rule, actor=world.operator, values={"text": PROMISE})
    rescan(world)
    [back] = contradictions_of(world)
    assert (back.pk, back.status, back.last_seen_at) == (row.pk, "open", None)
    assert acts(world) == ["contradiction.find", "contradiction.clear", "contradiction.recur"]


def test_what_a_person_dismissed_stays_dismissed_for_these_lines_alone(world: World) -> None:
    make_rule(world, THIRTY)
    memory = make_memory(world, TWO_WEEKS)
    rescan(world)
    [row] = contradictions_of(world)
    dismiss_contradiction(row, actor=world.operator, reason=DISMISSAL_REASON)
    rescan(world)
    assert states(world) == ["dismissed"]
    amend_memory(
        memory, actor=world.bot, body="Refunds are possible within 10 days of purchase.", heard=NO_RECEIVED_TEXTS
    )
    rescan(world)
    assert states(world) == ["gone", "open"]
    amend_memory(memory, actor=world.bot, body=TWO_WEEKS, heard=NO_RECEIVED_TEXTS)
    rescan(world)
    assert states(world) == ["dismissed", "gone"]
    [row, _] = contradictions_of(world)
    assert (row.dismissal_reason, row.decided_by) == (DISMISSAL_REASON, world.operator.label)
    reopen_contradiction(row, actor=world.operator, reason="They were not.")
    [row, _] = contradictions_of(world)
    assert (row.status, row.dismissal_reason, row.decided_by, row.decided_at) == ("open", "", "", None)


def test_a_dismissal_says_why(world: World) -> None:
    make_contradicting_rules(world)
    rescan(world)
    with pytest.raises(Invalid, match="Say why both lines may stay"):
        dismiss_contradiction(contradictions_of(world)[0], actor=world.operator, reason=" \n")
    assert states(world) == ["open"]


def test_a_night_is_looked_through_once_and_one_worker_at_a_time(world: World) -> None:
    now = timezone.now()
    make_contradicting_rules(world)
    scan_date = latest_scan_date(now, ZoneInfo("UTC"))
    held = claim_scan(world.agent.pk, scan_date, actor=world.system, at_once=False)
    assert held is not None
    assert scan_agent(world.agent.pk, actor=world.system, now=now, at_once=True) is None, "another worker looks"
    end_scan(held, ScanExtent(2, 1, is_complete=True), actor=world.system)
    assert scan_agent(world.agent.pk, actor=world.system, now=now) is None, "this night's look has ended"
    assert states(world) == []
    found = scan_agent(world.agent.pk, actor=world.system, now=now + timedelta(days=1))
    assert (found and found.new, states(world)) == (1, ["open"])
    end_scan(held, ScanExtent(9, 9, is_complete=False), actor=world.system)
    assert agent_scan(world).text_count == 2, "who was overtaken writes nothing"


def test_the_sweep_finds_every_agent_once_a_night(world: World) -> None:
    create_agent("sales", "Sales", actor=world.admin)
    mine = [agent_id for tenant_id, agent_id in due_work("contradiction_scans") if tenant_id == world.tenant.pk]
    assert world.agent.pk in mine
    for agent_id in (*mine, 0):
        run_scheduled_scan(world.tenant.pk, agent_id)
    assert (len(mine), agent_scan(world).scanned_at is not None) == (2, True)
    assert world.tenant.pk not in {tenant_id for tenant_id, _ in due_work("contradiction_scans")}


def test_what_a_person_asks_for_is_looked_at_again_in_the_same_night(world: World) -> None:
    mine = (world.tenant.pk, world.agent.pk)
    run_scheduled_scan(*mine)
    make_contradicting_rules(world)
    run_scheduled_scan(*mine)
    assert (states(world), mine in due_work("contradiction_scans")) == ([], False)
    request_scan(world.agent.pk, actor=world.operator)
    assert mine in due_work("contradiction_scans")
    run_scheduled_scan(*mine)
    assert (states(world), agent_scan(world).requested_at, mine in due_work("contradiction_scans")) == (
        ["open"],
        None,
        False,
    )
    with pytest.raises(NotVisible, match="no such agent"):
        request_scan(make_world().agent.pk, actor=world.operator)
    other = create_agent("sales", "Sales", actor=world.admin)
    request_scan(other.pk, actor=world.operator)
    assert (world.tenant.pk, other.pk) in due_work("contradiction_scans"), "one that nobody looked at before"


def test_an_agent_of_another_tenant_is_not_looked_at(world: World) -> None:
    other = make_world()
    make_contradicting_rules(other)
    assert scan_agent(other.agent.pk, actor=world.system, now=timezone.now(), at_once=True) is None
    assert contradictions_of(other) == []


@pytest.mark.parametrize(("before", "after"), [("open", "dismissed"), ("dismissed", "open")])
def test_database_lets_no_worker_decide(world: World, before: str, after: str) -> None:
    make_contradicting_rules(world)
    rescan(world)
    [row] = contradictions_of(world)
    if before == "dismissed":
        dismiss_contradiction(row, actor=world.operator, reason=DISMISSAL_REASON)
    setting = "UPDATE learning_contradiction SET status = %s WHERE id = %s"
    assert run_and_undo(world.system, setting, [after, row.pk]).sqlstate == NO_RIGHT
    assert run_and_undo(world.operator, "UPDATE learning_contradiction SET first_text = 'x'").sqlstate == NO_RIGHT


def test_a_night_ends_at_three_by_the_tenants_clock() -> None:
    zone = ZoneInfo("Europe/Berlin")
    assert latest_scan_date(datetime(2026, 7, 2, 0, 59, tzinfo=UTC), zone) == date(2026, 7, 1)
    assert latest_scan_date(datetime(2026, 7, 2, 1, 0, tzinfo=UTC), zone) == date(2026, 7, 2)


def test_a_name_for_people_says_what_it_is(world: World) -> None:
    make_contradicting_rules(world)
    rescan(world)
    [row] = contradictions_of(world)
    assert str(row) == f"Opposites ({row.pk})"
    assert str(agent_scan(world)) == f"Scan of agent {world.agent.pk}"
    assert {row.first_text, row.second_text} == {NEVER_RULE.rstrip("."), PROMISE.rstrip(".")}
    assert Contradiction.noun == "contradiction"
