"""The webhook outbox: a delivery is inserted in the transaction of its event, or not at all."""

from collections.abc import Callable
from typing import Final

from apps.governance.database.actor_transaction import execute_as
from apps.governance.database.sql_files import load_query
from apps.llm.model_backend import JsonObject
from apps.tenants.authentication.actor_resolution import system_actor
from apps.webhooks.rules import WebhookEvent

_ENQUEUE_DELIVERY: Final = load_query("apps/webhooks/queries/enqueue_delivery.sql")
_ENQUEUE_TENANT_DELIVERY: Final = load_query("apps/webhooks/queries/enqueue_tenant_delivery.sql")
# Functions that return the agent's key and the payload for a row of a tenant. Apps of higher layers add them.
PayloadBuilder = Callable[[int, int], tuple[str, JsonObject]]
PAYLOAD_BUILDERS: Final[dict[WebhookEvent, PayloadBuilder]] = {}


def enqueue_delivery(event: WebhookEvent, conversation_id: int, subject_id: int, *, tenant_id: int) -> None:
    """Queue an event for the tenant's webhooks, in the caller's transaction; without webhooks nothing is written."""
    given = {"conversation": conversation_id, "event": event.value, "subject": subject_id}
    execute_as(system_actor(tenant_id, "outbox"), _ENQUEUE_DELIVERY, given)


def enqueue_learning_delivery(event: WebhookEvent, subject_id: int, *, tenant_id: int) -> None:
    """Queue an event outside a conversation. Such events are delivered in no particular order."""
    given = {"event": event.value, "subject": subject_id}
    execute_as(system_actor(tenant_id, "outbox"), _ENQUEUE_TENANT_DELIVERY, given)
