-- Row security of the tables of notices: which rows each database role reaches, and what it may do with them.
-- What the acting roles may write of governed tables is not here: `sync_policy` derives it from the policy.

-- notices_notice: Workers write the e-mails to members, members and support staff read them, agents have no access. The
-- cross-tenant role counts them for the metrics.
ALTER TABLE notices_notice ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY notices_notice_tenant ON notices_notice USING (tenant_id = app_tenant()) WITH CHECK (tenant_id = app_tenant());
CREATE POLICY notices_notice_crossing ON notices_notice FOR SELECT TO @crossing@ USING (true);
GRANT SELECT ON notices_notice TO @operator@, @staff@;
GRANT SELECT, INSERT, UPDATE (status, tries, failure, sent_at) ON notices_notice TO @worker@;
GRANT SELECT (status, tenant_id) ON notices_notice TO @crossing@;

-- notices_noticeterms: Notification settings. The database lets a member write every row of the tenant, and the Python code
-- restricts them to their own. Workers write the columns that record sent notifications and the lease. Agents have no
-- access. The cross-tenant role finds due rows.
ALTER TABLE notices_noticeterms ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY notices_noticeterms_tenant ON notices_noticeterms
    USING (tenant_id = app_tenant())
    WITH CHECK (tenant_id = app_tenant());
CREATE POLICY notices_noticeterms_crossing ON notices_noticeterms TO @crossing@ USING (true) WITH CHECK (true);
GRANT SELECT, INSERT, UPDATE (escalations, calls, drafts, reviews, turns, deliveries, digest_hour, quiet_from,
    quiet_until, timezone, digested_at, next_look_at) ON notices_noticeterms TO @operator@;
GRANT SELECT, UPDATE (told, digested_at, next_look_at, lease_until, fence) ON notices_noticeterms TO @worker@;
GRANT SELECT ON notices_noticeterms TO @staff@;
GRANT SELECT (id, next_look_at, lease_until, tenant_id) ON notices_noticeterms TO @crossing@;
