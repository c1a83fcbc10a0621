"""Queues webhook deliveries for waiting reviews: a sweep finds them, and each webhook gets one delivery for each review."""

from typing import Final

from apps.governance.database.actor_transaction import execute_as
from apps.governance.database.sql_files import load_query
from apps.governance.models import Proposal
from apps.llm.model_backend import JsonObject
from apps.tenants.authentication.actor_resolution import system_actor

# Deliveries are kept for at least a day and show which reviews were sent already; an older review is not sent again.
_ENQUEUE_REVIEWS: Final = load_query("apps/notifications/queries/enqueue_reviews.sql")


def enqueue_reviews(tenant_id: int, webhook_id: int) -> None:
    """Queue a delivery for every waiting proposal of the last day that this webhook was not sent yet."""
    execute_as(system_actor(tenant_id, "outbox"), _ENQUEUE_REVIEWS, {"webhook": webhook_id})


def review_payload(tenant_id: int, proposal_id: int) -> tuple[str, JsonObject]:
    """Return the agent's key, empty for a tenant-wide proposal, and the proposal's current state without its text."""
    row = Proposal.objects.select_related("agent").get(tenant_id=tenant_id, pk=proposal_id)
    payload: JsonObject = {"id": row.pk, "kind": row.kind, "risk": row.risk, "state": row.current_state.value}
    return row.agent.key if row.agent else "", payload
