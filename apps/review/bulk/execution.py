"""Carrying a bulk decision out: each proposal by its own act, as the person who decided, in a transaction of its own.

The item is held while its proposal is decided and noted in the same commit. Whoever dies in between leaves it waiting, and the
sweep finds it; two workers at once take different items.
"""

import logging
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from django.db import InterfaceError, OperationalError

from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import acting_as, outside_tenant
from apps.governance.errors import GovernanceError, NotVisible
from apps.governance.governed_write import refuse_stale, write_reason
from apps.governance.models import Proposal
from apps.governance.policy.risk_tiers import RiskTier
from apps.governance.proposals.actions import reject_proposal
from apps.governance.proposals.approval_rules import refuse_undecidable
from apps.review.appliers.registry import target_of
from apps.review.approval_verdict import ApprovalRequest
from apps.review.bulk.eligibility import Verb, refuse_above_low_risk, refuse_ineligible
from apps.review.bulk.journal import lock_next_item, record_item_result, refuse_waiting_items
from apps.review.decisions import approve
from apps.review.models import BulkDecision, BulkItem
from apps.tenants.authentication.actor_resolution import memberships_of, person_actor, system_actor

logger = logging.getLogger(__name__)

NO_MEMBER: Final = "Whoever decided is no member of the tenant any more."
UNEXPECTED_ERROR: Final = (
    "It could not be decided on, for a reason that the log of the worker says. Decide on it on its own page."
)


def decide_all_items(tenant_id: int, bulk_id: int) -> None:
    """Decide on whatever still waits. May run twice, and at the same time."""
    with acting_as(system_actor(tenant_id, "bulk decision")):
        bulk = BulkDecision.objects.filter(tenant_id=tenant_id, pk=bulk_id).first()
    while bulk is not None and decide_next_item(bulk):
        pass


def decide_next_item(bulk: BulkDecision) -> bool:
    """Decide on one item; whether there was one. What the person may is looked up anew for each."""
    actor = _deciding_member(bulk)
    if actor is None:
        refuse_waiting_items(bulk, NO_MEMBER, actor=system_actor(bulk.tenant_id, "bulk decision"))
        return False
    with acting_as(actor):
        item = lock_next_item(bulk)
        if item is not None:
            record_item_result(item, _decide_item(item, bulk, actor))
    return item is not None


def _deciding_member(bulk: BulkDecision) -> Actor | None:
    with outside_tenant():
        roles = dict(memberships_of(bulk.user_id))
    role = roles.get(bulk.tenant_id)
    return person_actor(bulk.user_id, bulk.tenant_id, role) if role else None


def _decide_item(item: BulkItem, bulk: BulkDecision, actor: Actor) -> str:
    """Decide on one, within a savepoint; what it was refused with, or nothing."""
    try:
        with acting_as(actor), write_reason(bulk.reason, {"bulk_decision_id": bulk.pk}):
            _decide_proposal(_read_unchanged_proposal(item, actor), item, bulk, actor)
    except GovernanceError as refusal:
        return str(refusal)
    except (InterfaceError, OperationalError):
        # Without the database nothing can be said; the item waits for the sweep.
        raise
    except Exception as error:  # noqa: BLE001  # the worker's edge: one that breaks keeps no other from being decided
        logger.error("bulk item broke", extra={"item_id": item.pk, "error": type(error).__name__})
        return UNEXPECTED_ERROR
    return ""


def _read_unchanged_proposal(item: BulkItem, actor: Actor) -> Proposal:
    proposal = Proposal.objects.visible_to(actor).filter(pk=item.proposal_id).first()
    if proposal is None:
        raise NotVisible("It is not there any more.")
    refuse_undecidable(proposal)
    refuse_stale(proposal, item.read_version)
    return proposal


def _decide_proposal(proposal: Proposal, item: BulkItem, bulk: BulkDecision, actor: Actor) -> None:
    verb = Verb(bulk.verb)
    refuse_ineligible(proposal, verb, target_of(proposal, actor), actor)
    _DECIDE_BY_VERB[verb](proposal, item, bulk, actor)


def _approve(proposal: Proposal, item: BulkItem, bulk: BulkDecision, actor: Actor) -> None:
    yes = ApprovalRequest(proposal.content_sha256, reason=bulk.reason, read_at=item.read_version)
    approve(proposal, yes, actor=actor)
    # Under the locks of the approval the change may reach further than it did a moment before.
    refuse_above_low_risk(RiskTier(proposal.risk))


def _reject(proposal: Proposal, item: BulkItem, bulk: BulkDecision, actor: Actor) -> None:
    reject_proposal(proposal, actor=actor, reason=bulk.reason, reason_code=bulk.reason_code, read_at=item.read_version)


_DECIDE_BY_VERB: Mapping[Verb, Callable[[Proposal, BulkItem, BulkDecision, Actor], None]] = MappingProxyType(
    {Verb.APPROVE: _approve, Verb.REJECT: _reject}
)
