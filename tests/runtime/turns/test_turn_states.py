"""The table of a turn's transitions: complete, without dead ends, and the same as its diagram in the documentation."""

import re
from collections.abc import Iterator
from typing import Any, get_args, get_type_hints

import pytest

from apps.launcher.data_folders import PROJECT
from apps.llm.model_backend import BackendError, BadRequest, ContextExceeded, Overloaded, SpendLimitReached
from apps.runtime.kill_switch_checks import StoppedByPerson
from apps.runtime.limits.turn_budgets import DayBudgetSpent
from apps.runtime.models import Turn
from apps.runtime.sessions.session_prefix import PrefixChanged
from apps.runtime.turn_store.turn_journal import FenceLost, NewMessagesArrived
from apps.runtime.turns.circuit_breaker_store import BreakerOpen
from apps.runtime.turns.model_loop import TurnFailed
from apps.runtime.turns.turn_events import (
    BudgetExhausted,
    CallsDelayed,
    FailureMet,
    FencePassed,
    HistoryTooLong,
    Interruption,
    MachineEvent,
    MessagesArrived,
    ModelCallEvent,
    ModelUnavailable,
    PersonStopped,
    ToolCallEvent,
    TurnStarted,
)
from apps.runtime.turns.turn_failures import failure_event
from apps.runtime.turns.turn_states import (
    CLOSING,
    FINAL,
    TRANSITIONS,
    WAITING,
    WORKING,
    TurnState,
    UnexpectedEvent,
    next_state,
)
from apps.runtime.turns.turn_work import WORK

pytestmark = pytest.mark.pure

EventType = type[MachineEvent]
Edge = tuple[str, str, str]

EVENTS: tuple[EventType, ...] = get_args(MachineEvent)
STARTING = (TurnState.CLAIMED,)
# Any work may fail, or find that another worker holds the turn. In a closing state only the latter is handled.
FAILURES = {FailureMet, FencePassed}
REPORTED = {
    TurnState.CALLING_MODEL: ModelCallEvent | Interruption,
    TurnState.CALLING_TOOL: ToolCallEvent | Interruption,
}

DIAGRAM = re.compile(r"^## A turn$.*?^```mermaid\nstateDiagram-v2\n(.*?)^```$", re.MULTILINE | re.DOTALL)
DIAGRAM_EDGE = re.compile(r"^ *(\S+) --> (\S+): (\w+(?:, \w+)*)$", re.MULTILINE)
DIAGRAM_BOUNDARY = re.compile(r"^ *(\S+) --> (\S+)$", re.MULTILINE)
DIAGRAM_GROUP = "ANY_WORKING_STATE"


def events_in(state: TurnState) -> set[EventType]:
    return {event for source, event in TRANSITIONS if source is state}


def events_into(states: set[TurnState]) -> set[EventType]:
    return {event for (_, event), target in TRANSITIONS.items() if target in states}


def members(union: Any) -> set[EventType]:  # Any: a class, or a union of classes
    return set(get_args(union) or (union,))


def reachable_from(state: TurnState) -> set[TurnState]:
    found, grown = {state}, 0
    while grown != len(found):
        grown = len(found)
        found |= {target for (source, _), target in TRANSITIONS.items() if source in found}
    return found


def diagram() -> str:
    match = DIAGRAM.search((PROJECT / "docs" / "architecture.md").read_text("utf-8"))
    assert match, 'docs/architecture.md has no state diagram in its section "A turn"'
    return match[1]


def diagram_edges() -> Iterator[Edge]:
    for source, target, events in DIAGRAM_EDGE.findall(diagram()):
        sources = [state.name for state in WORKING] if source == DIAGRAM_GROUP else [source]
        yield from ((each, event, target) for each in sources for event in events.split(", "))


def test_every_state_is_of_one_kind() -> None:
    assert sorted((*STARTING, *WAITING, *WORKING, *CLOSING, *FINAL)) == sorted(TurnState)
    assert set(WORK) == {*WORKING, *CLOSING}


def test_every_state_is_reached_by_a_turn_that_was_claimed() -> None:
    assert reachable_from(TurnState.CLAIMED) == set(TurnState)


@pytest.mark.parametrize("state", TurnState)
def test_a_turn_can_end_from_every_state_and_goes_on_from_no_final_one(state: TurnState) -> None:
    assert reachable_from(state) & set(FINAL)
    assert (events_in(state) == set()) is (state in FINAL)


def test_every_event_occurs_in_some_state() -> None:
    assert {event for _, event in TRANSITIONS} == set(EVENTS)


def test_a_claimed_turn_waits_for_nothing_but_its_start() -> None:
    assert events_in(TurnState.CLAIMED) == {TurnStarted}


@pytest.mark.parametrize("state", WAITING)
def test_a_waiting_state_takes_what_a_driver_may_report(state: TurnState) -> None:
    assert events_in(state) == members(REPORTED[state])


@pytest.mark.parametrize("state", [*WORKING, *CLOSING])
def test_a_state_takes_every_event_that_can_end_its_work(state: TurnState) -> None:
    ending = members(get_type_hints(WORK[state])["return"])
    assert events_in(state) == ending | (FAILURES if state in WORKING else {FencePassed})


@pytest.mark.parametrize("state", [*WORKING, *CLOSING])
def test_the_work_of_a_state_expects_every_event_that_leads_into_it(state: TurnState) -> None:
    hints = get_type_hints(WORK[state])
    [expected] = [hint for name, hint in hints.items() if name not in {"turn", "return"}]
    assert members(expected) == events_into({other for other, work in WORK.items() if work is WORK[state]})


@pytest.mark.parametrize("state", TurnState)
def test_an_event_without_a_transition_is_an_error_of_the_program(state: TurnState) -> None:
    for event in set(EVENTS) - events_in(state):
        with pytest.raises(UnexpectedEvent, match=event.__name__):
            next_state(state, object.__new__(event))


@pytest.mark.parametrize(
    ("error", "event"),
    [
        (ContextExceeded("Too long."), HistoryTooLong("context_exceeded", "Too long.")),
        (BadRequest("No."), FailureMet("bad_request", "No.")),
        (BackendError("What?"), FailureMet("backend_error", "What?")),
        (PrefixChanged("Another prompt."), FailureMet("prefix_changed", "Another prompt.")),
        (TurnFailed("steps_spent", "Too many steps."), FailureMet("steps_spent", "Too many steps.")),
        (DayBudgetSpent(), BudgetExhausted()),
        (StoppedByPerson(), PersonStopped()),
        (NewMessagesArrived(), MessagesArrived()),
        (FenceLost(Turn(pk=1)), FencePassed()),
        (KeyError("x"), None),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_failure_becomes_one_event(error: Exception, event: MachineEvent | None) -> None:
    assert failure_event(error) == event


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (Overloaded("Later."), ModelUnavailable),
        (SpendLimitReached("Pay."), ModelUnavailable),
        (BreakerOpen("model", 5.0), CallsDelayed),
    ],
)
def test_a_failure_that_time_can_heal_keeps_its_error(error: Exception, kind: type[MachineEvent]) -> None:
    assert isinstance(failure_event(error), kind)


def test_the_diagram_has_exactly_the_transitions_of_the_table() -> None:
    table = {(source.name, event.__name__, target.name) for (source, event), target in TRANSITIONS.items()}
    drawn = list(diagram_edges())
    assert sorted(drawn) == sorted(table)


def test_the_diagram_begins_and_ends_where_a_turn_does() -> None:
    boundary = DIAGRAM_BOUNDARY.findall(diagram())
    assert sorted(boundary) == sorted([("[*]", "CLAIMED"), *((state.name, "[*]") for state in FINAL)])
