-- Pauses a webhook after failures in a row.
--
-- Called by: record_response (apps/runtime/webhook_delivery/delivery_lease.py)
-- Runs as: worker
-- One statement: an attempt that began before the present pause does not lengthen it.
-- Locks: the health of the webhook
-- Parameters:
--   :webhook   bigint       the webhook
--   :rest      interval     how long it is paused from now
--   :taken_at  timestamptz  when the attempt began
-- Returns: the id of the health row; no row where a pause began since the attempt did

UPDATE webhooks_webhookhealth
SET paused_until = statement_timestamp() + :rest::interval
WHERE tenant_id = app_tenant()
  AND webhook_id = :webhook
  AND coalesce(paused_until <= :taken_at::timestamptz, true)
RETURNING id
