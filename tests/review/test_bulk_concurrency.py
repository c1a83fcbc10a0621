"""A bulk decision whose worker dies, which several workers have at once, or of which one row breaks: each is decided once."""

from functools import partial

import psycopg
import pytest
from django.conf import settings

from apps.governance.database.actor_transaction import acting_as
from apps.governance.models import ChangeRecord
from apps.governance.policy.policy_table import Act
from apps.review.bulk.execution import UNEXPECTED_ERROR, decide_all_items, decide_next_item
from apps.review.models import BulkDecision
from tests.desk.test_concurrent_sending import run_together
from tests.support.factories.bulk_decisions import (
    begin_bulk_decision,
    item_states,
    make_drafts,
    reload_proposal,
    run_bulk_worker,
    states,
)
from tests.support.worlds.world import World, make_world


class WorkerKilled(Exception):
    """A worker that was killed."""


def decide_until_killed(world: World, bulk: BulkDecision) -> None:
    """Do all of an item, and do not live to commit it."""
    with acting_as(world.operator):
        decide_next_item(bulk)
        raise WorkerKilled


def test_a_worker_that_dies_within_an_item_leaves_neither_the_decision_nor_its_note(committing: str) -> None:
    world = make_world()
    drafts = make_drafts(world, 2)
    bulk = begin_bulk_decision(world, drafts)
    with pytest.raises(WorkerKilled):
        decide_until_killed(world, bulk)
    assert states(world, drafts) == ["open", "open"]
    assert item_states(world, bulk) == ["waiting", "waiting"]
    assert run_bulk_worker(world, bulk) == ["", ""]


def test_several_workers_at_once_decide_on_each_item_once(committing: str) -> None:
    world = make_world()
    drafts = make_drafts(world, 6)
    bulk = begin_bulk_decision(world, drafts)
    assert run_together([partial(decide_all_items, world.tenant.pk, bulk.pk)] * 4) == [""] * 4
    # Whoever found the others' items in hand went home; what is left is due.
    decide_all_items(world.tenant.pk, bulk.pk)
    assert item_states(world, bulk) == ["done"] * 6
    with acting_as(world.operator):
        assert ChangeRecord.objects.filter(act=Act.PROPOSAL_APPROVE.value).count() == 6


def test_a_row_that_breaks_the_worker_is_refused_and_the_next_one_decided(committing: str) -> None:
    world = make_world()
    drafts = make_drafts(world, 2)
    with psycopg.connect(settings.DATABASE_OWNER_URL, dbname=committing) as superuser:
        superuser.execute("SET session_replication_role = replica")
        superuser.execute("UPDATE governance_proposal SET target_type = 'no.noun' WHERE id = %s", [drafts[0].pk])
    bulk = begin_bulk_decision(world, [reload_proposal(world, draft) for draft in drafts])
    assert run_bulk_worker(world, bulk) == [UNEXPECTED_ERROR, ""]
