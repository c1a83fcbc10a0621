-- Row security of the tables of api: which rows each database role reaches, and what it may do with them.
-- What the acting roles may write of governed tables is not here: `sync_policy` derives it from the policy.

-- api_idempotencyrecord: Results of idempotent requests. Members and agents reach only their own; an agent reaches none in a turn,
-- because a result may be about another customer. Workers see only the expiry and delete old rows; support staff see none.
ALTER TABLE api_idempotencyrecord ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY api_idempotencyrecord_tenant ON api_idempotencyrecord USING (tenant_id = app_tenant()) WITH CHECK (tenant_id = app_tenant());
CREATE POLICY api_idempotencyrecord_agent ON api_idempotencyrecord AS RESTRICTIVE TO @agent@
    USING (caller = 'agent:' || app_agent() AND app_customer() IS NULL)
    WITH CHECK (caller = 'agent:' || app_agent() AND app_customer() IS NULL);
CREATE POLICY api_idempotencyrecord_cross_tenant ON api_idempotencyrecord TO @cross_tenant@ USING (true) WITH CHECK (true);
CREATE POLICY api_idempotencyrecord_member ON api_idempotencyrecord AS RESTRICTIVE TO @operator@
    USING (caller = 'member:' || app_member())
    WITH CHECK (caller = 'member:' || app_member());
GRANT SELECT, INSERT, UPDATE (request_sha256, status, body, row_id, location, claimed_at, expires_at), DELETE ON
    api_idempotencyrecord TO @operator@, @agent@;
GRANT SELECT (id, expires_at, tenant_id), DELETE ON api_idempotencyrecord TO @worker@;
GRANT SELECT (expires_at, tenant_id) ON api_idempotencyrecord TO @cross_tenant@;
