"""The journal of bulk decisions, and the message that wakes a worker for one. Only this module writes to the journal.

The journal needs no change records: each proposal is decided by its own act, which has one. A lost wake-up delays a decision
until the next sweep; no decision is lost.
"""

import logging
from collections.abc import Mapping
from functools import partial

from django.db import transaction
from django.db.models import QuerySet
from django.db.models.functions import Now

from apps.governance.actors import ANYWHERE, Actor
from apps.governance.authorization import authorize
from apps.governance.database.actor_transaction import acting_as
from apps.governance.errors import Invalid, MissingActor, NotVisible
from apps.governance.models import Proposal
from apps.review.bulk.eligibility import ACT_OF_VERB, MOST_PROPOSALS, Verb
from apps.review.models import BulkDecision, BulkItem
from config.task_publishing import publish_task

logger = logging.getLogger(__name__)


def begin_bulk(
    verb: Verb, read: Mapping[int, int], *, actor: Actor, reason: str = "", reason_code: str = ""
) -> BulkDecision:
    """Record a bulk decision on the proposals in `read`, which maps each id to the version that the person read.

    A worker then decides on each proposal.
    """
    authorize(actor, ACT_OF_VERB[verb], actor.tenant_id, agent_id=ANYWHERE)
    if actor.user_id is None:
        raise MissingActor("A bulk decision needs a person as its actor.")
    with acting_as(actor):
        kind = common_kind(verb, read, actor)
        bulk = BulkDecision.objects.create(
            tenant_id=actor.tenant_id,
            user_id=actor.user_id,
            verb=verb,
            kind=kind,
            reason=reason,
            reason_code=reason_code,
        )
        items = (
            BulkItem(tenant_id=actor.tenant_id, decision=bulk, proposal_id=proposal_id, read_version=version)
            for proposal_id, version in read.items()
        )
        BulkItem.objects.bulk_create(items)
    return bulk


def common_kind(verb: Verb, read: Mapping[int, int], actor: Actor) -> str:
    """Return the kind that all these proposals share; empty if they are of several kinds, which an approval refuses.

    Refuses an empty or too long selection, and unknown proposals.
    """
    most = MOST_PROPOSALS[verb]
    if not 0 < len(read) <= most:
        raise Invalid(f"Choose at least one proposal, and at most {most}.", {"row": ["This is none, or too many."]})
    found = dict(Proposal.objects.visible_to(actor).filter(pk__in=read).values_list("pk", "kind"))
    if len(found) < len(read):
        raise NotVisible("Some of these proposals do not exist, or no longer. Choose again.")
    kinds = set(found.values())
    if len(kinds) > 1 and verb is Verb.APPROVE:
        raise Invalid(
            "A bulk approval takes proposals of one kind. Choose one kind.", {"row": ["These are of several kinds."]}
        )
    return str(kinds.pop()) if len(kinds) == 1 else ""


def lock_next_item(bulk: BulkDecision) -> BulkItem | None:
    """Return the next waiting item that no other worker has locked, and lock it until the commit."""
    return _waiting_items(bulk).select_for_update(skip_locked=True).first()


def record_item_result(item: BulkItem, refusal: str) -> None:
    """Record the result of an item, in the transaction that decided on it. An empty `refusal` means done."""
    state = BulkItem.State.REFUSED if refusal else BulkItem.State.DONE
    _waiting_items(item.decision).filter(pk=item.pk).update(state=state, refusal=refusal, decided_at=Now())


def refuse_waiting_items(bulk: BulkDecision, refusal: str, *, actor: Actor) -> None:
    """Mark all waiting items of a bulk decision as refused, with this message."""
    with acting_as(actor):
        rest = _waiting_items(bulk)
        rest.update(state=BulkItem.State.REFUSED, refusal=refusal, decided_at=Now())


def _waiting_items(bulk: BulkDecision) -> QuerySet[BulkItem]:
    return bulk.items.filter(tenant_id=bulk.tenant_id, state=BulkItem.State.WAITING)


def wake_bulk_worker(tenant_id: int, bulk_id: int) -> None:
    """Wake a worker for the decision after the commit."""
    transaction.on_commit(partial(_enqueue_bulk, tenant_id, bulk_id))


def _enqueue_bulk(tenant_id: int, bulk_id: int) -> None:
    if not publish_task("apps.review.tasks.decide_bulk", tenant_id, bulk_id):
        logger.warning("broker unreachable, the sweep will decide", extra={"bulk_id": bulk_id})
