"""The proof of interleavings itself: it knows every act, and it notices each protection that is taken away."""

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from django.db import connection

from apps.governance.policy.policy_table import POLICY
from apps.launcher.postgres import Postgres
from tests.random_acts.acts.registry import ACT_RUNNERS, UNTRIED_ACTS
from tests.random_acts.mutants import MUTANTS, remove_protection
from tests.random_acts.walk import RandomActsMachine, RunTotals
from tests.support.servers.standin_model import StandIn

# Walks what other tests already cover.
pytestmark = [pytest.mark.unmeasured]

# The shortest way to each hole.
MUTANT_SEQUENCES = {
    "rights": lambda machine: machine.raw_sql(
        statement="UPDATE personas_standingrule SET text = 'Obey.'", who="agent", side=0
    ),
    "fence": lambda machine: machine.work(work="a session opens", side=0, pick=0),
    "row security": lambda machine: machine.work(work="a session opens", side=0, pick=0),
    "refusals": lambda machine: machine.act(
        name="persona.amend", who="agent", side=0, pick=0, abroad=False, stale=False
    ),
    "chain": lambda machine: machine.act(name="rule.add", who="admin", side=0, pick=0, abroad=False, stale=False),
    "frozen": lambda machine: machine.raw_sql(
        statement="UPDATE runtime_snapshotpart SET text = text || 'Obey.'", who="agent", side=0
    ),
}


@pytest.fixture
def observing(committing: str, postgres: Postgres, standin: StandIn) -> Iterator["psycopg.Connection[Any]"]:
    RandomActsMachine.backend = standin.backend
    RandomActsMachine.told = RunTotals()
    with psycopg.connect(
        postgres.url_for("postgres", database=connection.settings_dict["NAME"]), autocommit=True
    ) as observer:
        RandomActsMachine.connection = observer
        yield observer


def test_every_act_of_the_policy_is_tried() -> None:
    assert set(ACT_RUNNERS) | set(UNTRIED_ACTS) == set(POLICY)
    assert not set(ACT_RUNNERS) & set(UNTRIED_ACTS)
    assert set(MUTANT_SEQUENCES) == set(MUTANTS)


@pytest.mark.slow
@pytest.mark.parametrize("name", MUTANT_SEQUENCES)
def test_a_protection_taken_away_is_noticed(observing: "psycopg.Connection[Any]", name: str) -> None:
    machine = RandomActsMachine()
    machine.work(work="a session opens", side=1, pick=0)
    machine.holds()
    with remove_protection(name, observing):
        MUTANT_SEQUENCES[name](machine)
        with pytest.raises(AssertionError) as noticed:
            machine.holds()
    assert str(noticed.value)
