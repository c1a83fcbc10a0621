-- Keys, checks and indexes of skills that Django's models cannot state.

-- Unique keys: Tenant and id together are unique, so that references can carry the tenant.
ALTER TABLE skills_skill ADD CONSTRAINT skills_skill_tenant_row
    UNIQUE (tenant_id, id);

-- Checks and unique columns: Unique within the tenant, in place of Django's plain unique column: a violation must not reveal
-- a row of another tenant.
ALTER TABLE skills_skilluse DROP CONSTRAINT skills_skilluse_skill_id_key, ADD CONSTRAINT skills_skilluse_skill_id_key UNIQUE (tenant_id, skill_id);

-- References that cannot leave the tenant: References carry the tenant, so no row can point into another tenant.
ALTER TABLE skills_skill ADD CONSTRAINT skills_skill_agent_id_in_tenant
    FOREIGN KEY (tenant_id, agent_id) REFERENCES tenants_agent (tenant_id, id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE skills_skilluse ADD CONSTRAINT skills_skilluse_skill_id_in_tenant
    FOREIGN KEY (tenant_id, skill_id) REFERENCES skills_skill (tenant_id, id) DEFERRABLE INITIALLY DEFERRED;

-- Indexes over expressions: For full-text search over skills.
CREATE INDEX skill_full_text ON skills_skill USING gin (build_search_vector(tenant_id, name || ' ' || title || ' ' || description || ' ' || body));
