-- Keys, checks and indexes of contradictions that Django's models cannot state.

-- Unique keys: Tenant and id together are a key, so that other tables can refer to a row together with its tenant.
ALTER TABLE contradictions_contradiction ADD CONSTRAINT contradictions_contradiction_tenant_row
    UNIQUE (tenant_id, id);

-- Checks and unique columns: Django makes a one-to-one column unique across all tenants. Here it is unique within the
-- tenant, because a violated key would reveal that another tenant has such a row.
ALTER TABLE contradictions_contradictionlook DROP CONSTRAINT contradictions_contradictionlook_agent_id_key, ADD CONSTRAINT contradictions_contradictionlook_agent_id_key UNIQUE (tenant_id, agent_id);

-- References that cannot leave the tenant: References carry the tenant, so no row can point into another tenant.
ALTER TABLE contradictions_contradiction ADD CONSTRAINT contradictions_contradiction_agent_id_in_tenant
    FOREIGN KEY (tenant_id, agent_id) REFERENCES tenants_agent (tenant_id, id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE contradictions_contradictionlook ADD CONSTRAINT contradictions_contradictionlook_agent_id_in_tenant
    FOREIGN KEY (tenant_id, agent_id) REFERENCES tenants_agent (tenant_id, id) DEFERRABLE INITIALLY DEFERRED;
