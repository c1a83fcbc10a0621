-- Row security of the tables of notices: which rows each database role reaches, and what it may do with them.
-- What the acting roles may write of governed tables is not here: `sync_policy` derives it from the policy.

-- notifications_emailnotification: Workers write the e-mails to members, members and support staff read them, agents have no access. The
-- cross-tenant role counts them for the metrics.
ALTER TABLE notifications_emailnotification ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY notifications_emailnotification_tenant ON notifications_emailnotification USING (tenant_id = app_tenant()) WITH CHECK (tenant_id = app_tenant());
CREATE POLICY notifications_emailnotification_cross_tenant ON notifications_emailnotification FOR SELECT TO @cross_tenant@ USING (true);
GRANT SELECT ON notifications_emailnotification TO @operator@, @staff@;
GRANT SELECT, INSERT, UPDATE (status, attempts, failure, sent_at) ON notifications_emailnotification TO @worker@;
GRANT SELECT (status, tenant_id) ON notifications_emailnotification TO @cross_tenant@;

-- notifications_notificationpreferences: Notification settings. The database lets a member write every row of the tenant, and the Python code
-- restricts them to their own. Workers write the columns that record sent notifications and the lease. Agents have no
-- access. The cross-tenant role finds due rows.
ALTER TABLE notifications_notificationpreferences ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY notifications_notificationpreferences_tenant ON notifications_notificationpreferences
    USING (tenant_id = app_tenant())
    WITH CHECK (tenant_id = app_tenant());
CREATE POLICY notifications_notificationpreferences_cross_tenant ON notifications_notificationpreferences TO @cross_tenant@ USING (true) WITH CHECK (true);
GRANT SELECT, INSERT, UPDATE (escalations, tool_approvals, drafts, reviews, stuck_turns, deliveries, digest_hour, quiet_start_hour,
    quiet_end_hour, timezone, last_digest_at, next_check_at) ON notifications_notificationpreferences TO @operator@;
GRANT SELECT, UPDATE (notified_ids, last_digest_at, next_check_at, lease_until, fence) ON notifications_notificationpreferences TO @worker@;
GRANT SELECT ON notifications_notificationpreferences TO @staff@;
GRANT SELECT (id, next_check_at, lease_until, tenant_id) ON notifications_notificationpreferences TO @cross_tenant@;
