"""What is tried in the playground goes when nobody wrote for an hour: whoever tries reads and thinks in between."""

from typing import ClassVar

from django.db import migrations

from apps.governance.database import RoleSQL

FORGETTING_DUE = """
CREATE OR REPLACE FUNCTION forgetting_due(of_tenant bigint, of_conversation bigint) RETURNS TABLE (since timestamptz)
    LANGUAGE sql STABLE AS $$
    SELECT said.at FROM conversations_conversation AS thread CROSS JOIN LATERAL (
        SELECT greatest(
            CASE WHEN thread.status = 'open' THEN greatest(
                (SELECT max(event.received_at) FROM conversations_inboundevent AS event
                  WHERE event.tenant_id = thread.tenant_id AND event.conversation_id = thread.id),
                (SELECT max(message.created_at) FROM conversations_message AS message
                  WHERE message.tenant_id = thread.tenant_id AND message.conversation_id = thread.id))
            ELSE thread.updated_at END,
            (SELECT max(turn.finished_at) FROM runtime_turn AS turn
              WHERE turn.tenant_id = thread.tenant_id AND turn.conversation_id = thread.id)) AS at) AS said
     WHERE thread.tenant_id = of_tenant AND thread.id = of_conversation AND thread.off_the_record
       AND said.at > coalesce(thread.forgotten_at, '-infinity')
       AND (thread.status <> 'open' OR said.at < statement_timestamp() - CASE thread.channel
           WHEN 'playground' THEN interval '1 hour' ELSE interval '15 minutes' END)
       AND NOT EXISTS (SELECT 1 FROM runtime_turn AS turn WHERE turn.tenant_id = thread.tenant_id
           AND turn.conversation_id = thread.id AND turn.status = 'running')
       -- What a webhook is to be told it is told first, as long as it is tried: a day and a half, stretched by up to a quarter.
       AND NOT EXISTS (
           SELECT 1 FROM webhooks_delivery AS delivery JOIN webhooks_webhook AS webhook
               ON webhook.tenant_id = delivery.tenant_id AND webhook.id = delivery.webhook_id
            WHERE delivery.tenant_id = thread.tenant_id AND delivery.conversation_id = thread.id
              AND delivery.event = 'reply' AND delivery.status = 'waiting' AND webhook.is_active
              AND delivery.created_at > statement_timestamp() - interval '2 days')
$$
"""


class Migration(migrations.Migration):
    """One function anew."""

    dependencies: ClassVar = [
        ("conversations", "0025_walls_of_trials"),
        ("learning", "0013_the_last_word_and_the_end"),
    ]
    operations: ClassVar = [RoleSQL(FORGETTING_DUE)]
