-- Row security of the tables of restoration: which rows each database role reaches, and what it may do with them.
-- What the acting roles may write of governed tables is not here: `sync_policy` derives it from the policy.

-- restore_checkpoint: Rows of the tenant. Members, workers and support staff see the checkpoints. An agent may query the
-- table and gets no rows.
ALTER TABLE restore_checkpoint ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY restore_checkpoint_tenant ON restore_checkpoint
    USING (tenant_id = app_tenant())
    WITH CHECK (tenant_id = app_tenant());
CREATE POLICY restore_checkpoint_agent ON restore_checkpoint AS RESTRICTIVE TO @agent@
    USING (false)
    WITH CHECK (false);
GRANT SELECT ON restore_checkpoint TO @operator@, @worker@, @agent@, @staff@;
