-- Enqueues an event that happens in no conversation for every active webhook of the tenant that subscribes to it. Several of them
-- arrive in any order.
--
-- Called by: enqueue_learning_delivery (apps/webhooks/outbox.py), in the transaction that causes the event
-- Runs as: worker
-- One statement: one insert for all webhooks.
-- Locks: nothing
-- Parameters:
--   :event    text    a WebhookEvent that happens in no conversation
--   :subject  bigint  the row that the event is about
-- Returns: the ids of the new deliveries

INSERT INTO webhooks_delivery (tenant_id, webhook_id, event, subject_id)
SELECT webhook.tenant_id, webhook.id, :event::text, :subject
FROM webhooks_webhook AS webhook
WHERE webhook.tenant_id = app_tenant()
  AND webhook.is_active
  AND webhook.secret_id IS NOT NULL
  AND CASE :event::text
      WHEN 'learning_version' THEN webhook.on_learning_version
      WHEN 'distillation' THEN webhook.on_distillation
      WHEN 'review' THEN webhook.on_review
  END
RETURNING id
