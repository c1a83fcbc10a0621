"""A real worker carries a bulk decision out; killed in the middle of it, another one finishes, and none is decided twice."""

from collections import Counter

import psycopg
import pytest

from apps.governance.database.actor_transaction import acting_as
from apps.governance.models import Approval, ChangeRecord
from apps.governance.policy.policy_table import Act
from apps.launcher.child_processes import wait_until
from apps.launcher.postgres import Postgres
from apps.review.models import BulkDecision
from tests.support.factories.bulk_decisions import begin_bulk_decision, item_states, make_drafts, states
from tests.support.servers.running_product import RunningProduct
from tests.support.servers.shared_product import DATABASE
from tests.support.timeouts import PATIENCE_SECONDS
from tests.support.worlds.world import World, make_world

pytestmark = [pytest.mark.slow, pytest.mark.unmeasured]
COUNT = 40
WAKE_SCRIPT = (
    "import django; django.setup(); from apps.review.bulk.journal import wake_bulk_worker; wake_bulk_worker({}, {})"
)


def wake_worker(product: RunningProduct, world: World, bulk: BulkDecision) -> None:
    """As the page does it, in a process of its own."""
    woken = product.run("-c", WAKE_SCRIPT.format(world.tenant.pk, bulk.pk), DJANGO_SETTINGS_MODULE="config.settings")
    assert woken.returncode == 0, woken.stderr


def waiting_count(world: World, bulk: BulkDecision) -> int:
    return item_states(world, bulk).count("waiting")


def test_a_killed_worker_leaves_each_item_either_decided_or_waiting(
    product: RunningProduct, postgres: Postgres
) -> None:
    world = make_world()
    drafts = make_drafts(world, COUNT)
    bulk = begin_bulk_decision(world, drafts)
    with psycopg.connect(postgres.url_for("postgres", database=DATABASE)) as raw:
        # One item waits for what is locked here, however fast the worker is.
        raw.execute("SELECT FROM governance_proposal WHERE id = %s FOR UPDATE", [drafts[-1].pk])
        wake_worker(product, world, bulk)
        assert wait_until(lambda: waiting_count(world, bulk) < COUNT, PATIENCE_SECONDS, 0.01)
        product.kill("worker")
    items, proposals = item_states(world, bulk), states(world, drafts)
    assert [state == "done" for state in items] == [state == "applied" for state in proposals]
    assert 0 < Counter(items)["waiting"] < COUNT, "a worker that was killed decided some"
    product.start_worker()
    product.await_ready()
    wake_worker(product, world, bulk)
    assert wait_until(lambda: waiting_count(world, bulk) == 0, PATIENCE_SECONDS, 0.2)
    assert states(world, drafts) == ["applied"] * COUNT
    with acting_as(world.operator):
        assert Approval.objects.count() == COUNT
        assert ChangeRecord.objects.filter(act=Act.PROPOSAL_APPROVE.value).count() == COUNT
