"""Proposals that ran out of time: closed by a sweep, taken up again by a person."""

import logging

from apps.governance.database.actor_transaction import acting
from apps.governance.errors import IllegalTransition
from apps.governance.models import Proposal
from apps.governance.proposals.actions import expire_proposal
from apps.tenants.authentication.actor_resolution import system_actor

logger = logging.getLogger(__name__)


def expire(tenant_id: int, proposal_id: int) -> None:
    """Close one proposal, unless somebody decided on it or gave it more time meanwhile."""
    actor = system_actor(tenant_id, "proposal expiry")
    with acting(actor):
        proposal = Proposal.objects.visible_to(actor).open().filter(pk=proposal_id).first()
    if proposal is None:
        return
    try:
        expire_proposal(proposal, actor=actor)
    except IllegalTransition:
        logger.info("proposal was decided on in time", extra={"proposal_id": proposal_id})
