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
from apps.governance.database.actor_transaction import acting, outside
from apps.governance.errors import GovernanceError, NotVisible
from apps.governance.governed_write import occasion, refuse_stale
from apps.governance.models import Proposal
from apps.governance.policy.risk_tiers import Tier
from apps.governance.proposals.actions import reject_proposal
from apps.governance.proposals.approval_rules import refuse_undecidable
from apps.review.appliers.registry import target_of
from apps.review.bulk.eligibility import Verb, refuse_above_low, refuse_apart
from apps.review.bulk.journal import next_item, note_item, refuse_rest
from apps.review.decisions import Yes, approve
from apps.review.models import BulkDecision, BulkItem
from apps.tenants.authentication.actor_resolution import memberships_of, person_actor, system_actor

logger = logging.getLogger(__name__)

NO_MEMBER: Final = "Whoever decided is no member of the tenant any more."
BROKEN: Final = (
    "It could not be decided on, for a reason that the log of the worker says. Decide on it on its own page."
)


def decide_all(tenant_id: int, bulk_id: int) -> None:
    """Decide on whatever still waits. May run twice, and at the same time."""
    with acting(system_actor(tenant_id, "bulk decision")):
        bulk = BulkDecision.objects.filter(tenant_id=tenant_id, pk=bulk_id).first()
    while bulk is not None and decide_next(bulk):
        pass


def decide_next(bulk: BulkDecision) -> bool:
    """Decide on one item; whether there was one. What the person may is looked up anew for each."""
    actor = _decider(bulk)
    if actor is None:
        refuse_rest(bulk, NO_MEMBER, actor=system_actor(bulk.tenant_id, "bulk decision"))
        return False
    with acting(actor):
        item = next_item(bulk)
        if item is not None:
            note_item(item, _refusal(item, bulk, actor))
    return item is not None


def _decider(bulk: BulkDecision) -> Actor | None:
    with outside():
        roles = dict(memberships_of(bulk.user_id))
    role = roles.get(bulk.tenant_id)
    return person_actor(bulk.user_id, bulk.tenant_id, role) if role else None


def _refusal(item: BulkItem, bulk: BulkDecision, actor: Actor) -> str:
    """Decide on one, within a savepoint; what it was refused with, or nothing."""
    try:
        with acting(actor), occasion(bulk.reason, {"bulk_decision_id": bulk.pk}):
            _decide(_as_read(item, actor), item, bulk, actor)
    except GovernanceError as refusal:
        return str(refusal)
    except (InterfaceError, OperationalError):
        # Without the database nothing can be said; the item waits for the sweep.
        raise
    except Exception as error:  # noqa: BLE001  # the worker's edge: one that breaks keeps no other from being decided
        logger.error("bulk item broke", extra={"item_id": item.pk, "error": type(error).__name__})
        return BROKEN
    return ""


def _as_read(item: BulkItem, actor: Actor) -> Proposal:
    proposal = Proposal.objects.visible_to(actor).filter(pk=item.proposal_id).first()
    if proposal is None:
        raise NotVisible("It is not there any more.")
    refuse_undecidable(proposal)
    refuse_stale(proposal, item.read_version)
    return proposal


def _decide(proposal: Proposal, item: BulkItem, bulk: BulkDecision, actor: Actor) -> None:
    verb = Verb(bulk.verb)
    refuse_apart(proposal, verb, target_of(proposal, actor), actor)
    _WORDS[verb](proposal, item, bulk, actor)


def _approve(proposal: Proposal, item: BulkItem, bulk: BulkDecision, actor: Actor) -> None:
    yes = Yes(proposal.content_sha256, reason=bulk.reason, read_at=item.read_version)
    approve(proposal, yes, actor=actor)
    # Under the locks of the approval the change may reach further than it did a moment before.
    refuse_above_low(Tier(proposal.risk))


def _reject(proposal: Proposal, item: BulkItem, bulk: BulkDecision, actor: Actor) -> None:
    reject_proposal(proposal, actor=actor, reason=bulk.reason, reason_code=bulk.reason_code, read_at=item.read_version)


_WORDS: Mapping[Verb, Callable[[Proposal, BulkItem, BulkDecision, Actor], None]] = MappingProxyType(
    {Verb.APPROVE: _approve, Verb.REJECT: _reject}
)
