-- Row security of the tables of restoration: which rows each database role reaches, and what it may do with them.
-- What the acting roles may write of governed tables is not here: `sync_policy` derives it from the policy.

-- restoration_checkpoint: Rows of the tenant. Members, workers and support staff see the checkpoints. An agent may query the
-- table and gets no rows.
ALTER TABLE restoration_checkpoint ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY restoration_checkpoint_tenant ON restoration_checkpoint
    USING (tenant_id = app_tenant())
    WITH CHECK (tenant_id = app_tenant());
CREATE POLICY restoration_checkpoint_agent ON restoration_checkpoint AS RESTRICTIVE TO @agent@
    USING (false)
    WITH CHECK (false);
GRANT SELECT ON restoration_checkpoint TO @operator@, @worker@, @agent@, @staff@;
