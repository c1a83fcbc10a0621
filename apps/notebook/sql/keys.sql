-- Keys, checks and indexes of notebook that Django's models cannot state.

-- Unique keys: Tenant and id together are unique, so that references can carry the tenant.
ALTER TABLE notebook_note ADD CONSTRAINT notebook_note_tenant_row
    UNIQUE (tenant_id, id);

-- References that cannot leave the tenant: References carry the tenant, so no row can point into another tenant.
ALTER TABLE notebook_note ADD CONSTRAINT notebook_note_agent_id_in_tenant
    FOREIGN KEY (tenant_id, agent_id) REFERENCES tenants_agent (tenant_id, id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE notebook_note ADD CONSTRAINT notebook_note_conversation_id_in_tenant
    FOREIGN KEY (tenant_id, conversation_id) REFERENCES conversations_conversation (tenant_id, id) DEFERRABLE INITIALLY DEFERRED;
