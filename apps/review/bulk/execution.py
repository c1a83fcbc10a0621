"""Execution of bulk decisions: each proposal is decided by its own act, as the person who decided, in its own transaction.

An item is locked while its proposal is decided, and its result is recorded in the same commit. If a worker dies in between, the
item stays waiting and the sweep finds it. Two workers never take the same item.
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
from apps.review.decisions import approve, rebase_cleanly
from apps.review.models import BulkDecision, BulkItem
from apps.tenants.authentication.actor_resolution import memberships_of, person_actor, system_actor

logger = logging.getLogger(__name__)

NO_MEMBER: Final = "The person who decided is no longer a member of the tenant. Decide on its own page."
UNEXPECTED_ERROR: Final = "The decision failed; the worker's log has the reason. Decide on its own page."


def decide_all_items(tenant_id: int, bulk_id: int) -> None:
    """Decide on every waiting item of a bulk decision. Running this twice, even concurrently, is safe."""
    with acting_as(system_actor(tenant_id, "bulk decision")):
        bulk = BulkDecision.objects.filter(tenant_id=tenant_id, pk=bulk_id).first()
    while bulk is not None and decide_next_item(bulk):
        pass


def decide_next_item(bulk: BulkDecision) -> bool:
    """Decide on the next waiting item, and return whether there was one.

    The person's role and grants are read again for each item.
    """
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
    """Decide on one item within a savepoint. Returns the message of the refusal, or an empty text."""
    try:
        with acting_as(actor), write_reason(bulk.reason, {"bulk_decision_id": bulk.pk}):
            _decide_proposal(_read_unchanged_proposal(item, actor), item, bulk, actor)
    except GovernanceError as refusal:
        return str(refusal)
    except (InterfaceError, OperationalError):
        # The database is unreachable, so no result can be recorded; the item stays waiting and the sweep finds it.
        raise
    except Exception as error:  # noqa: BLE001  # the worker's edge: an error in one item does not stop the others
        logger.error("bulk item failed", extra={"item_id": item.pk, "error": type(error).__name__})
        return UNEXPECTED_ERROR
    return ""


def _read_unchanged_proposal(item: BulkItem, actor: Actor) -> Proposal:
    proposal = Proposal.objects.visible_to(actor).filter(pk=item.proposal_id).first()
    if proposal is None:
        raise NotVisible("The proposal no longer exists.")
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
    # The approval computed the risk under its locks, and the risk may have risen since the earlier check.
    refuse_above_low_risk(RiskTier(proposal.risk))


def _reject(proposal: Proposal, item: BulkItem, bulk: BulkDecision, actor: Actor) -> None:
    reject_proposal(proposal, actor=actor, reason=bulk.reason, reason_code=bulk.reason_code, read_at=item.read_version)


def _rebase(proposal: Proposal, item: BulkItem, _bulk: BulkDecision, actor: Actor) -> None:
    rebase_cleanly(proposal, actor=actor, read_at=item.read_version)


_DECIDE_BY_VERB: Mapping[Verb, Callable[[Proposal, BulkItem, BulkDecision, Actor], None]] = MappingProxyType(
    {Verb.APPROVE: _approve, Verb.REJECT: _reject, Verb.REBASE: _rebase}
)
