"""The proof of interleavings itself: it knows every act, and it notices each protection that is taken away."""

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from django.db import connection

from apps.governance.policy.table import POLICY
from apps.launcher.postgres import Postgres
from tests.random_acts.acts.registry import DEEDS, NOT_TRIED
from tests.random_acts.mutants import MUTANTS, taken_away
from tests.random_acts.walk import Governance, Told
from tests.support.servers.standin_model import StandIn

# Walks what other tests already cover.
pytestmark = [pytest.mark.unmeasured]

# The shortest way to each hole.
WAYS = {
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
    Governance.backend = standin.backend
    Governance.told = Told()
    with psycopg.connect(
        postgres.url_for("postgres", database=connection.settings_dict["NAME"]), autocommit=True
    ) as observer:
        Governance.connection = observer
        yield observer


def test_every_act_of_the_policy_is_tried() -> None:
    assert set(DEEDS) | set(NOT_TRIED) == set(POLICY)
    assert not set(DEEDS) & set(NOT_TRIED)
    assert set(WAYS) == set(MUTANTS)


@pytest.mark.slow
@pytest.mark.parametrize("name", WAYS)
def test_a_protection_taken_away_is_noticed(observing: "psycopg.Connection[Any]", name: str) -> None:
    machine = Governance()
    machine.work(work="a session opens", side=1, pick=0)
    machine.holds()
    with taken_away(name, observing):
        WAYS[name](machine)
        with pytest.raises(AssertionError) as noticed:
            machine.holds()
    assert str(noticed.value)
