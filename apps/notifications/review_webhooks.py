"""Telling webhooks which reviews wait: found by a look, and noted as any delivery is, once for each webhook."""

from typing import Final

from apps.governance.database.actor_transaction import execute_as
from apps.governance.models import Proposal
from apps.llm.model_backend import JsonObject
from apps.tenants.authentication.actor_resolution import system_actor

# What was told stays at least a day, by which the database knows that it was; what is older is told to nobody anew.
_ENQUEUE_SQL: Final = """
INSERT INTO webhooks_delivery (tenant_id, webhook_id, event, subject_id)
SELECT webhook.tenant_id, webhook.id, 'review', proposal.id
  FROM webhooks_webhook AS webhook
  JOIN governance_proposal AS proposal ON proposal.tenant_id = webhook.tenant_id
 WHERE webhook.tenant_id = app_tenant() AND webhook.id = %(webhook)s
   AND webhook.is_active AND webhook.secret_id IS NOT NULL AND webhook.on_review
   AND proposal.state = 'open' AND proposal.created_at > statement_timestamp() - interval '1 day'
   AND coalesce(proposal.snoozed_until, '-infinity') <= statement_timestamp()
 ORDER BY proposal.id
ON CONFLICT DO NOTHING
RETURNING id"""


def enqueue_reviews(tenant_id: int, webhook_id: int) -> None:
    """Note for one webhook every proposal of the last day that waits and that it was not told of."""
    execute_as(system_actor(tenant_id, "outbox"), _ENQUEUE_SQL, {"webhook": webhook_id})


def review_payload(tenant_id: int, proposal_id: int) -> tuple[str, JsonObject]:
    """The agent's key, empty where it is the whole tenant's, and the proposal as it stands when it is told; none of the words."""
    row = Proposal.objects.select_related("agent").get(tenant_id=tenant_id, pk=proposal_id)
    payload: JsonObject = {"id": row.pk, "kind": row.kind, "risk": row.risk, "state": row.state}
    return row.agent.key if row.agent else "", payload
