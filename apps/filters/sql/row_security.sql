-- Row security of the tables of filters: which rows each database role reaches, and what it may do with them.
-- What the acting roles may write of governed tables is not here: `sync_policy` derives it from the policy.

-- filters_savedfilter: Members and support staff see their own filters and those shared with the tenant. A member saves
-- filters under their own name, and deletes their own. An admin may also delete shared ones. Nobody changes a filter, and
-- agents and workers have no access.
ALTER TABLE filters_savedfilter ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY filters_savedfilter_tenant ON filters_savedfilter
    USING (tenant_id = app_tenant())
    WITH CHECK (tenant_id = app_tenant());
CREATE POLICY filters_savedfilter_deleted ON filters_savedfilter AS RESTRICTIVE FOR DELETE TO @operator@
    USING (user_id = app_member() OR is_shared AND EXISTS (
        SELECT 1 FROM tenants_membership AS member WHERE member.tenant_id = filters_savedfilter.tenant_id
            AND member.user_id = app_member() AND member.role = 'admin' AND member.is_active));
CREATE POLICY filters_savedfilter_saved ON filters_savedfilter AS RESTRICTIVE FOR INSERT TO @operator@
    WITH CHECK (user_id = app_member());
CREATE POLICY filters_savedfilter_seen ON filters_savedfilter AS RESTRICTIVE FOR SELECT TO @operator@, @staff@
    USING (user_id = app_member() OR is_shared);
GRANT SELECT, INSERT, DELETE ON filters_savedfilter TO @operator@;
GRANT SELECT ON filters_savedfilter TO @staff@;
