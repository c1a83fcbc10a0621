"""A bulk decision whose worker dies, which several workers have at once, or of which one row breaks: each is decided once."""

from functools import partial

import psycopg
import pytest
from django.conf import settings

from apps.governance.database.actor_transaction import acting
from apps.governance.models import ChangeRecord
from apps.governance.policy.table import Act
from apps.review.bulk.execution import BROKEN, decide_all, decide_next
from apps.review.models import BulkDecision
from tests.desk.test_concurrent_sending import at_once
from tests.support.factories.bulk_decisions import again, became, begin, carry_out, make_drafts, states
from tests.support.worlds.world import World, make_world


class Died(Exception):
    """A worker that was killed."""


def decide_and_die(world: World, bulk: BulkDecision) -> None:
    """Do all of an item, and do not live to commit it."""
    with acting(world.operator):
        decide_next(bulk)
        raise Died


def test_a_worker_that_dies_within_an_item_leaves_neither_the_decision_nor_its_note(committing: str) -> None:
    world = make_world()
    drafts = make_drafts(world, 2)
    bulk = begin(world, drafts)
    with pytest.raises(Died):
        decide_and_die(world, bulk)
    assert states(world, drafts) == ["open", "open"]
    assert became(world, bulk) == ["waiting", "waiting"]
    assert carry_out(world, bulk) == ["", ""]


def test_several_workers_at_once_decide_on_each_item_once(committing: str) -> None:
    world = make_world()
    drafts = make_drafts(world, 6)
    bulk = begin(world, drafts)
    assert at_once([partial(decide_all, world.tenant.pk, bulk.pk)] * 4) == [""] * 4
    # Whoever found the others' items in hand went home; what is left is due.
    decide_all(world.tenant.pk, bulk.pk)
    assert became(world, bulk) == ["done"] * 6
    with acting(world.operator):
        assert ChangeRecord.objects.filter(act=Act.PROPOSAL_APPROVE.value).count() == 6


def test_a_row_that_breaks_the_worker_is_refused_and_the_next_one_decided(committing: str) -> None:
    world = make_world()
    drafts = make_drafts(world, 2)
    with psycopg.connect(settings.DATABASE_OWNER_URL, dbname=committing) as superuser:
        superuser.execute("SET session_replication_role = replica")
        superuser.execute("UPDATE governance_proposal SET target_type = 'no.noun' WHERE id = %s", [drafts[0].pk])
    bulk = begin(world, [again(world, draft) for draft in drafts])
    assert carry_out(world, bulk) == [BROKEN, ""]
