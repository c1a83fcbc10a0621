-- Row security of the tables of comments: which rows each database role reaches, and what it may do with them.
-- What the acting roles may write of governed tables is not here: `sync_policy` derives it from the policy.

-- comments_comment: Members and support staff read the comments of the tenant. Agents and workers have no access: people
-- write comments for people, and none may reach a prompt.
ALTER TABLE comments_comment ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY comments_comment_tenant ON comments_comment
    USING (tenant_id = app_tenant())
    WITH CHECK (tenant_id = app_tenant());
GRANT SELECT ON comments_comment TO @operator@, @staff@;
