-- Keys, checks and indexes of memory that Django's models cannot state.

-- Unique keys: Tenant and id together are unique, so that references can carry the tenant.
ALTER TABLE memory_agentmemory ADD CONSTRAINT memory_agentmemory_tenant_row
    UNIQUE (tenant_id, id);
ALTER TABLE memory_customerprofile ADD CONSTRAINT memory_customerprofile_tenant_row
    UNIQUE (tenant_id, id);
ALTER TABLE memory_memoryblock ADD CONSTRAINT memory_memoryblock_tenant_row
    UNIQUE (tenant_id, id);
ALTER TABLE memory_memoryline ADD CONSTRAINT memory_memoryline_tenant_row
    UNIQUE (tenant_id, id);
ALTER TABLE memory_profileline ADD CONSTRAINT memory_profileline_tenant_row
    UNIQUE (tenant_id, id);

-- References that cannot leave the tenant: References carry the tenant, so no row can point into another tenant.
ALTER TABLE memory_agentmemory ADD CONSTRAINT memory_agentmemory_agent_id_in_tenant
    FOREIGN KEY (tenant_id, agent_id) REFERENCES tenants_agent (tenant_id, id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE memory_memoryblock ADD CONSTRAINT memory_memoryblock_agent_id_in_tenant
    FOREIGN KEY (tenant_id, agent_id) REFERENCES tenants_agent (tenant_id, id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE memory_memoryline ADD CONSTRAINT memory_memoryline_agent_id_in_tenant
    FOREIGN KEY (tenant_id, agent_id) REFERENCES tenants_agent (tenant_id, id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE memory_memoryline ADD CONSTRAINT memory_memoryline_block_id_in_tenant
    FOREIGN KEY (tenant_id, block_id) REFERENCES memory_memoryblock (tenant_id, id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE memory_memoryline ADD CONSTRAINT memory_memoryline_memory_id_in_tenant
    FOREIGN KEY (tenant_id, memory_id) REFERENCES memory_agentmemory (tenant_id, id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE memory_memoryline ADD CONSTRAINT memory_memoryline_superseded_by_id_in_tenant
    FOREIGN KEY (tenant_id, superseded_by_id) REFERENCES memory_memoryline (tenant_id, id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE memory_memorytier ADD CONSTRAINT memory_memorytier_agent_id_in_tenant
    FOREIGN KEY (tenant_id, agent_id) REFERENCES tenants_agent (tenant_id, id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE memory_profileline ADD CONSTRAINT memory_profileline_profile_id_in_tenant
    FOREIGN KEY (tenant_id, profile_id) REFERENCES memory_customerprofile (tenant_id, id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE memory_profileline ADD CONSTRAINT memory_profileline_superseded_by_id_in_tenant
    FOREIGN KEY (tenant_id, superseded_by_id) REFERENCES memory_profileline (tenant_id, id) DEFERRABLE INITIALLY DEFERRED;

-- Indexes over expressions: For full-text search. Removed profile lines are not in the index, so no search brings a removed
-- fact about a person back.
CREATE INDEX memory_block_full_text ON memory_memoryblock USING gin (build_search_vector(tenant_id, label));
CREATE INDEX memory_line_full_text ON memory_memoryline USING gin (build_search_vector(tenant_id, text));
CREATE INDEX profile_line_full_text ON memory_profileline USING gin (build_search_vector(tenant_id, text)) WHERE status = 'active';
