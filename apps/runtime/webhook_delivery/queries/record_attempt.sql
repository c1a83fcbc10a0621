-- Writes the result of an attempt and the health of its webhook, and removes some old deliveries of that webhook.
--
-- Called by: record_response and take_delivery (apps/runtime/webhook_delivery/delivery_lease.py)
-- Runs as: worker
-- One statement: the fence is checked by the statement that writes; an attempt that was overtaken counts nowhere.
-- Locks: the delivery's row, the health of its webhook, the deliveries that are removed (locked ones are skipped)
-- Parameters:
--   :delivery      bigint       the delivery
--   :fence         integer      the fence of the attempt
--   :status        text         the delivery's new status: waiting, delivered or dead
--   :pause         interval     how long from now until the next attempt
--   :http_status   integer      HTTP status of the response, null without one
--   :failure_code  text         why there is none, '' for no failure
--   :failed        integer      1 for a failed attempt, else 0
--   :taken_at      timestamptz  when the attempt began
--   :kept          interval     how long deliveries are kept after they were delivered
--   :at_once       integer      old deliveries to remove at most
-- Returns: one row:
--   consecutive_failures  integer  failures of the webhook in a row, null if the attempt was overtaken
--   next_delivery         bigint   the conversation's next waiting delivery to this webhook, null for none

WITH tried_delivery AS (
    UPDATE webhooks_delivery
    SET status = :status::text,
        next_attempt_at = statement_timestamp() + :pause::interval,
        lease_until = statement_timestamp(),
        http_status = :http_status,
        failure_code = :failure_code,
        delivered_at = CASE WHEN :status::text = 'delivered' THEN statement_timestamp() END
    WHERE tenant_id = app_tenant()
      AND id = :delivery
      AND fence = :fence
      AND status = 'waiting'
    RETURNING tenant_id, webhook_id, conversation_id, id
), health AS (
    INSERT INTO webhooks_webhookhealth AS health (tenant_id, webhook_id, consecutive_failures, failing_since)
    SELECT tenant_id, webhook_id, :failed::integer, CASE WHEN :failed > 0 THEN statement_timestamp() END
    FROM tried_delivery
    ON CONFLICT (tenant_id, webhook_id) DO UPDATE
    SET consecutive_failures = CASE
            WHEN :failed = 0 THEN 0
            -- Attempts that were under way when the pause began are expected to fail: they neither count nor lengthen it.
            WHEN health.paused_until > :taken_at::timestamptz THEN health.consecutive_failures
            ELSE health.consecutive_failures + 1
        END,
        failing_since = CASE WHEN :failed > 0 THEN coalesce(health.failing_since, statement_timestamp()) END,
        paused_until = CASE WHEN :failed > 0 THEN health.paused_until END
    RETURNING health.consecutive_failures
), removed_delivery AS (
    DELETE FROM webhooks_delivery AS removed
    USING (
        SELECT old.id
        FROM webhooks_delivery AS old
        JOIN tried_delivery AS tried ON tried.tenant_id = old.tenant_id AND tried.webhook_id = old.webhook_id
        WHERE old.status = 'delivered' AND old.delivered_at < statement_timestamp() - :kept::interval
        ORDER BY old.delivered_at
        LIMIT :at_once::integer
        FOR UPDATE OF old SKIP LOCKED
    ) AS old
    WHERE removed.tenant_id = app_tenant() AND removed.id = old.id
)
SELECT
    (SELECT consecutive_failures FROM health) AS consecutive_failures,
    (
        SELECT delivery.id
        FROM webhooks_delivery AS delivery
        JOIN tried_delivery AS tried
          ON tried.tenant_id = delivery.tenant_id
         AND tried.webhook_id = delivery.webhook_id
         AND tried.conversation_id = delivery.conversation_id
         AND delivery.id > tried.id
        WHERE delivery.status = 'waiting'
        ORDER BY delivery.id
        LIMIT 1
    ) AS next_delivery
