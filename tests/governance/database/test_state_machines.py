"""Every pair of states by raw SQL: the database moves a row exactly where the model's state machine does."""

from collections.abc import Iterator

import pytest
from django_fsm import FSMFieldMixin

from apps.governance.models import Governed
from tests.governance.state_machine_rows import MACHINES, Machine
from tests.support.database.raw_sql_as_role import BROKEN_RULE, run_and_undo
from tests.support.worlds.world import (
    make_world,
)

pytestmark = pytest.mark.django_db


def states(machine: Machine) -> list[str]:
    field = machine.model._meta.get_field(machine.column)
    assert isinstance(field, FSMFieldMixin)
    return [str(value) for value, _ in field.flatchoices]


def allowed_transitions(machine: Machine) -> set[tuple[str, str]]:
    field = machine.model._meta.get_field(machine.column)
    assert isinstance(field, FSMFieldMixin)
    return {(str(move.source), str(move.target)) for move in field.get_all_transitions(machine.model)}


def pairs() -> Iterator[tuple[str, str, str]]:
    for noun, machine in MACHINES.items():
        for before in states(machine):
            for after in [*states(machine), "invented"]:
                if before != after:
                    yield noun, before, after


@pytest.mark.parametrize(("noun", "before", "after"), list(pairs()))
def test_database_moves_a_state_exactly_where_the_model_does(noun: str, before: str, after: str) -> None:
    # R092, R108
    machine, world = MACHINES[noun], make_world()
    row = machine.make(world, before)
    besides = f", {machine.besides[after]}" if after in machine.besides else ""
    moving = f"UPDATE {row._meta.db_table} SET {machine.column} = %s{besides} WHERE id = %s"  # noqa: S608  # constants above
    outcome = run_and_undo(world.operator, moving, [after, row.pk])
    assert outcome.passed == ((before, after) in allowed_transitions(machine))
    assert outcome.sqlstate == ("" if outcome.passed else BROKEN_RULE)


@pytest.mark.parametrize(
    ("noun", "state"),
    [(noun, state) for noun, machine in MACHINES.items() for state in states(machine)[1:]],
)
def test_database_lets_no_row_be_born_in_a_later_state(noun: str, state: str) -> None:
    # R093
    machine, world = MACHINES[noun], make_world()
    row = machine.make(world, states(machine)[0])
    table = row._meta.db_table
    changes = {
        "skill": '"name": "twin"',
        "conversation": '"conversation_key": "twin"',
        "proposal": '"kind": "x", "approval_count": 0',
    }
    more = f", {changes[noun]}" if noun in changes else ""
    born = (
        f"INSERT INTO {table} SELECT (jsonb_populate_record(row,"  # noqa: S608  # constants above
        f" jsonb_build_object('id', 987654321, '{machine.column}', %s::text) || '{{\"version\": 1{more}}}')).* FROM {table} AS row"
    )
    # Turns, digests, looks and the distiller make these; people make none.
    made = {"draft", "tool_approval", "learning_version", "contradiction", "edit_cluster", "tier"}
    maker = world.system if noun in made else world.operator
    assert run_and_undo(maker, born, [state]).sqlstate == BROKEN_RULE
    assert run_and_undo(maker, born, [states(machine)[0]]).sqlstate in {"", "23505"}


def test_every_noun_with_states_stands_here() -> None:
    nouns = {
        model for model in Governed.__subclasses__() if any(isinstance(f, FSMFieldMixin) for f in model._meta.fields)
    }
    assert nouns == {machine.model for machine in MACHINES.values()}
