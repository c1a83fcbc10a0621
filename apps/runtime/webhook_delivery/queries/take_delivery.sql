-- Takes a webhook delivery that is due, for one attempt.
--
-- Called by: take_delivery (apps/runtime/webhook_delivery/delivery_lease.py)
-- Runs as: worker
-- One statement: of two workers one gets the row.
-- Locks: the delivery's row
-- Parameters:
--   :delivery  bigint    the delivery
--   :lease     interval  how long the attempt may take before another worker makes the next one
-- Returns: when it was taken; no row if it is not due, or another worker has it

UPDATE webhooks_delivery AS delivery
SET lease_until = statement_timestamp() + :lease::interval,
    fence = delivery.fence + 1,
    attempts = delivery.attempts + 1
FROM webhooks_webhook AS webhook
WHERE delivery.tenant_id = app_tenant()
  AND delivery.id = :delivery
  AND delivery.status = 'waiting'
  AND greatest(delivery.next_attempt_at, delivery.lease_until) <= statement_timestamp()
  AND webhook.tenant_id = delivery.tenant_id
  AND webhook.id = delivery.webhook_id
  AND webhook.is_active
  -- A sweep may have found the delivery before its webhook was paused.
  AND NOT EXISTS (
      SELECT 1
      FROM webhooks_webhookhealth AS health
      WHERE health.tenant_id = delivery.tenant_id
        AND health.webhook_id = delivery.webhook_id
        AND health.paused_until > statement_timestamp()
  )
  -- Deliveries of a conversation are sent in their order: none overtakes an earlier one that waits.
  AND NOT EXISTS (
      SELECT 1
      FROM webhooks_delivery AS earlier
      WHERE earlier.tenant_id = delivery.tenant_id
        AND earlier.webhook_id = delivery.webhook_id
        AND earlier.conversation_id = delivery.conversation_id
        AND earlier.status = 'waiting'
        AND earlier.id < delivery.id
  )
RETURNING statement_timestamp() AS taken_at
