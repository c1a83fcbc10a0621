-- Gives up a delivery whose content was erased meanwhile. Nothing was tried, so it says nothing about the webhook's health.
--
-- Called by: take_delivery (apps/runtime/webhook_delivery/delivery_lease.py)
-- Runs as: worker
-- One statement: a single update.
-- Locks: the delivery's row
-- Parameters:
--   :delivery  bigint  the delivery
-- Returns: the delivery's id; no row if it does not wait any more

UPDATE webhooks_delivery
SET status = 'dead',
    failure_code = 'content_gone',
    lease_until = statement_timestamp()
WHERE tenant_id = app_tenant()
  AND id = :delivery
  AND status = 'waiting'
RETURNING id
