-- Row security of the tables of webhooks: which rows each database role reaches, and what it may do with them.
-- What the acting roles may write of governed tables is not here: `sync_policy` derives it from the policy.

-- webhooks_delivery: Workers add, send and delete deliveries. Operators can only send one again. Agents see none. The cross-
-- tenant role reads the columns that due work needs.
ALTER TABLE webhooks_delivery ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY webhooks_delivery_tenant ON webhooks_delivery
    USING (tenant_id = app_tenant())
    WITH CHECK (tenant_id = app_tenant());
CREATE POLICY webhooks_delivery_cross_tenant ON webhooks_delivery TO @cross_tenant@ USING (true) WITH CHECK (true);
GRANT SELECT, UPDATE (status, attempts, next_attempt_at, lease_until, replayed_by) ON webhooks_delivery TO @operator@;
GRANT SELECT, INSERT, UPDATE (status, attempts, next_attempt_at, lease_until, fence, http_status, failure_code, delivered_at), DELETE
    ON webhooks_delivery TO @worker@;
GRANT SELECT ON webhooks_delivery TO @staff@;
GRANT SELECT (id, event, subject_id, created_at, status, next_attempt_at, lease_until, conversation_id, tenant_id,
    webhook_id) ON webhooks_delivery TO @cross_tenant@;

-- webhooks_webhook: Rows of the tenant; agents see none. The cross-tenant role reads the columns that due work needs.
ALTER TABLE webhooks_webhook ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY webhooks_webhook_tenant ON webhooks_webhook
    USING (tenant_id = app_tenant())
    WITH CHECK (tenant_id = app_tenant());
CREATE POLICY webhooks_webhook_cross_tenant ON webhooks_webhook TO @cross_tenant@ USING (true) WITH CHECK (true);
GRANT SELECT ON webhooks_webhook TO @operator@, @worker@, @staff@;
GRANT SELECT (id, is_active, secret_id, tenant_id, on_review) ON webhooks_webhook TO @cross_tenant@;

-- webhooks_webhookhealth: The circuit breaker of each webhook: failures in a row and the pause after them. Only workers
-- write it. Agents see none. The cross-tenant role reads the end of the pause.
ALTER TABLE webhooks_webhookhealth ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY webhooks_webhookhealth_tenant ON webhooks_webhookhealth
    USING (tenant_id = app_tenant())
    WITH CHECK (tenant_id = app_tenant());
CREATE POLICY webhooks_webhookhealth_cross_tenant ON webhooks_webhookhealth TO @cross_tenant@ USING (true) WITH CHECK (true);
GRANT SELECT ON webhooks_webhookhealth TO @operator@, @staff@;
GRANT SELECT, INSERT, UPDATE (consecutive_failures, failing_since, paused_until) ON webhooks_webhookhealth TO @worker@;
GRANT SELECT (paused_until, tenant_id, webhook_id) ON webhooks_webhookhealth TO @cross_tenant@;
