"""How something comes to be told: noted in the transaction that does it, or not at all."""

from collections.abc import Callable
from typing import Final

from apps.governance.database.actor_transaction import execute_as
from apps.llm.model_backend import JsonObject
from apps.tenants.authentication.actor_resolution import system_actor
from apps.webhooks.rules import NON_CONVERSATION_EVENTS, WebhookEvent

# What an integration may pass on to a customer, or take for the end of what they asked.
CUSTOMER_EVENTS: Final = frozenset({WebhookEvent.REPLY, WebhookEvent.RESOLVED})


def _customers_only_sql(conversation: str) -> str:
    """What agents answer each other, or a member, is told to nobody else: an integration would pass it on to the customer."""
    return f"""
       AND NOT EXISTS (
           SELECT 1 FROM conversations_conversation AS asked
            WHERE asked.tenant_id = webhook.tenant_id AND asked.id = {conversation}
               AND (asked.parent_id IS NOT NULL OR asked.member_user_id IS NOT NULL))"""  # noqa: S608  # of constants


def outbox_insert_sql(event: WebhookEvent, conversation: str, subject: str, source: str) -> str:
    """The insert that notes it for every webhook of the tenant that asked for this; of names of a statement's own rows."""
    return f"""
    INSERT INTO webhooks_delivery (tenant_id, webhook_id, conversation_id, event, subject_id)
    SELECT webhook.tenant_id, webhook.id, {conversation}, '{event.value}', {subject}
      FROM {source}, webhooks_webhook AS webhook
     WHERE webhook.tenant_id = app_tenant() AND webhook.is_active AND webhook.secret_id IS NOT NULL
       AND webhook.on_{event.value}{_customers_only_sql(conversation) if event in CUSTOMER_EVENTS else ""}"""  # noqa: S608  # of constants


# The conversation is locked, so that what happens in it is noted in the order in which it stands. Of transcripts that were
# imported nothing is told.
_CONVERSATION_SQL: Final = """(
        SELECT id FROM conversations_conversation
         WHERE tenant_id = app_tenant() AND id = %(conversation)s AND origin = 'live' FOR NO KEY UPDATE) AS thread"""
_ENQUEUE_SQL: Final = {
    event: f"{outbox_insert_sql(event, 'thread.id', '%(subject)s', _CONVERSATION_SQL)} RETURNING id"
    for event in WebhookEvent
    if event not in NON_CONVERSATION_EVENTS
}
_ENQUEUE_LEARNING_SQL: Final = {
    event: f"""
    INSERT INTO webhooks_delivery (tenant_id, webhook_id, event, subject_id)
    SELECT webhook.tenant_id, webhook.id, '{event.value}', %(subject)s FROM webhooks_webhook AS webhook
     WHERE webhook.tenant_id = app_tenant() AND webhook.is_active AND webhook.secret_id IS NOT NULL
       AND webhook.on_{event.value} RETURNING id"""  # noqa: S608  # of constants
    for event in NON_CONVERSATION_EVENTS
}
# The agent's key and what is said of a row of a tenant; filled by the apps above, which know these rows.
PayloadBuilder = Callable[[int, int], tuple[str, JsonObject]]
PAYLOAD_BUILDERS: Final[dict[WebhookEvent, PayloadBuilder]] = {}


def enqueue_delivery(event: WebhookEvent, conversation_id: int, subject_id: int, *, tenant_id: int) -> None:
    """Note it for the tenant's webhooks, in the transaction of whoever does it; where there are none nothing is written."""
    given = {"conversation": conversation_id, "subject": subject_id}
    execute_as(system_actor(tenant_id, "outbox"), _ENQUEUE_SQL[event], given)


def enqueue_learning_delivery(event: WebhookEvent, subject_id: int, *, tenant_id: int) -> None:
    """The same of what happened in no conversation; several of these arrive in any order."""
    execute_as(system_actor(tenant_id, "outbox"), _ENQUEUE_LEARNING_SQL[event], {"subject": subject_id})
