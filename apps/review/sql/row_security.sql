-- Row security of the tables of review: which rows each database role reaches, and what it may do with them.
-- What the acting roles may write of governed tables is not here: `sync_policy` derives it from the policy.

-- review_bulkdecision: Rows of the tenant. A member adds bulk actions only under their own name, because a worker carries
-- them out later with the permissions of that person. Agents have no access. The cross-tenant role finds unfinished ones.
ALTER TABLE review_bulkdecision ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY review_bulkdecision_tenant ON review_bulkdecision
    USING (tenant_id = app_tenant())
    WITH CHECK (tenant_id = app_tenant());
CREATE POLICY review_bulkdecision_cross_tenant ON review_bulkdecision TO @cross_tenant@ USING (true) WITH CHECK (true);
CREATE POLICY review_bulkdecision_own ON review_bulkdecision AS RESTRICTIVE FOR INSERT TO @operator@
    WITH CHECK (user_id = app_member());
GRANT SELECT, INSERT ON review_bulkdecision TO @operator@;
GRANT SELECT ON review_bulkdecision TO @worker@, @staff@;
GRANT SELECT (id, created_at, tenant_id) ON review_bulkdecision TO @cross_tenant@;

-- review_bulkitem: Rows of the tenant. A member adds proposals only to their own bulk action. The result is written as that
-- member, or by a worker if the member has left the tenant. Agents have no access. The cross-tenant role finds open items.
ALTER TABLE review_bulkitem ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY review_bulkitem_tenant ON review_bulkitem
    USING (tenant_id = app_tenant())
    WITH CHECK (tenant_id = app_tenant());
CREATE POLICY review_bulkitem_cross_tenant ON review_bulkitem TO @cross_tenant@ USING (true) WITH CHECK (true);
CREATE POLICY review_bulkitem_own ON review_bulkitem AS RESTRICTIVE FOR INSERT TO @operator@
    WITH CHECK (EXISTS (SELECT 1 FROM review_bulkdecision AS decision WHERE decision.id = decision_id
        AND decision.tenant_id = app_tenant() AND decision.user_id = app_member()));
GRANT SELECT, INSERT, UPDATE (state, refusal, decided_at) ON review_bulkitem TO @operator@;
GRANT SELECT, UPDATE (state, refusal, decided_at) ON review_bulkitem TO @worker@;
GRANT SELECT ON review_bulkitem TO @staff@;
GRANT SELECT (state, decision_id, tenant_id) ON review_bulkitem TO @cross_tenant@;

-- review_comment: Members and support staff read the comments of the tenant. Agents and workers have no access: people
-- write comments for people, and none may reach a prompt.
ALTER TABLE review_comment ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY review_comment_tenant ON review_comment
    USING (tenant_id = app_tenant())
    WITH CHECK (tenant_id = app_tenant());
GRANT SELECT ON review_comment TO @operator@, @staff@;

-- review_savedfilter: Members and support staff see their own filters and those shared with the tenant. A member saves
-- filters under their own name, and deletes their own. An admin may also delete shared ones. Nobody changes a filter, and
-- agents and workers have no access.
ALTER TABLE review_savedfilter ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY review_savedfilter_tenant ON review_savedfilter
    USING (tenant_id = app_tenant())
    WITH CHECK (tenant_id = app_tenant());
CREATE POLICY review_savedfilter_delete ON review_savedfilter AS RESTRICTIVE FOR DELETE TO @operator@
    USING (user_id = app_member() OR is_shared AND EXISTS (
        SELECT 1 FROM tenants_membership AS member WHERE member.tenant_id = review_savedfilter.tenant_id
            AND member.user_id = app_member() AND member.role = 'admin' AND member.is_active));
CREATE POLICY review_savedfilter_insert ON review_savedfilter AS RESTRICTIVE FOR INSERT TO @operator@
    WITH CHECK (user_id = app_member());
CREATE POLICY review_savedfilter_select ON review_savedfilter AS RESTRICTIVE FOR SELECT TO @operator@, @staff@
    USING (user_id = app_member() OR is_shared);
GRANT SELECT, INSERT, DELETE ON review_savedfilter TO @operator@;
GRANT SELECT ON review_savedfilter TO @staff@;
