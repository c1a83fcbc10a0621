-- Enqueues an event of a conversation for every active webhook of the tenant that subscribes to it. Imported transcripts
-- cause no deliveries.
--
-- Called by: enqueue_delivery (apps/webhooks/outbox.py), in the transaction that causes the event
-- Runs as: worker
-- One statement: one insert for all webhooks.
-- Locks: the conversation's row, so that its events are enqueued in the order in which they happen
-- Parameters:
--   :conversation  bigint  the conversation
--   :event         text    a WebhookEvent that happens in a conversation
--   :subject       bigint  the row that the event is about
-- Returns: the ids of the new deliveries

INSERT INTO webhooks_delivery (tenant_id, webhook_id, conversation_id, event, subject_id)
SELECT webhook.tenant_id, webhook.id, source.conversation_id, :event::text, :subject
FROM (
    SELECT id AS conversation_id
    FROM conversations_conversation
    WHERE tenant_id = app_tenant() AND id = :conversation AND origin = 'live'
    FOR NO KEY UPDATE
) AS source, webhooks_webhook AS webhook
WHERE webhook.tenant_id = app_tenant()
  AND webhook.is_active
  AND webhook.secret_id IS NOT NULL
  AND CASE :event::text
      WHEN 'reply' THEN webhook.on_reply
      WHEN 'draft' THEN webhook.on_draft
      WHEN 'escalation' THEN webhook.on_escalation
      WHEN 'resolved' THEN webhook.on_resolved
  END
  -- A reply may be passed on to the customer, and the end of a conversation may be taken for the end of what they asked.
  AND (:event::text NOT IN ('reply', 'resolved') OR
      -- include: apps/webhooks/queries/fragments/is_customer_conversation.sql
  )
RETURNING id
