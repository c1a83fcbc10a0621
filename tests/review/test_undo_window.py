"""A yes is taken back within a minute on the database's clock, and no later."""

import psycopg
import pytest
from django.conf import settings

from apps.governance.database.actor_transaction import acting_as
from apps.governance.errors import IllegalTransition
from apps.governance.models import Proposal
from apps.governance.proposals.actions import undo_proposal
from apps.skills.proposals import propose_revision
from tests.support.factories.approvals import approve_as_read
from tests.support.worlds.world import make_skill, make_world

pytestmark = pytest.mark.kernel


def test_an_approval_older_than_a_minute_is_not_undone(committing: str) -> None:
    # R092
    world = make_world()
    proposal = propose_revision(make_skill(world, "approved"), actor=world.bot, values={"body": "Better."})
    approve_as_read(proposal, world.operator)
    with psycopg.connect(settings.DATABASE_OWNER_URL, dbname=committing) as superuser:
        # Past the trigger that stamps the decision.
        superuser.execute("SET session_replication_role = replica")
        superuser.execute("UPDATE governance_proposal SET decided_at = decided_at - interval '61 seconds'")
    with acting_as(world.operator):
        applied = Proposal.objects.get(pk=proposal.pk)
    with pytest.raises(IllegalTransition, match="An approval can be undone only within a minute"):
        undo_proposal(applied, actor=world.operator)
