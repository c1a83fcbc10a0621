"""Proposals whose time for a decision has run out."""

from django.db import connection

from apps.governance.database.actor_transaction import acting_as
from apps.governance.models import Proposal
from tests.support.worlds.world import World


def let_run_out(proposal: Proposal, world: World) -> None:
    """Let the time for a decision end a second ago, before the hourly sweep."""
    with acting_as(world.operator), connection.cursor() as cursor:
        cursor.execute(
            "UPDATE governance_proposal SET expires_at = now() - interval '1 second' WHERE id = %s", [proposal.pk]
        )
        proposal.refresh_from_db()
