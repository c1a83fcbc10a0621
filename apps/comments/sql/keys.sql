-- Keys, checks and indexes of comments that Django's models cannot state.

-- Unique keys: Tenant and id together are a key, so that other tables can refer to a row together with its tenant.
ALTER TABLE comments_comment ADD CONSTRAINT comments_comment_tenant_row
    UNIQUE (tenant_id, id);

-- References that cannot leave the tenant: References carry the tenant, so no row can point into another tenant.
ALTER TABLE comments_comment ADD CONSTRAINT comments_comment_agent_id_in_tenant
    FOREIGN KEY (tenant_id, agent_id) REFERENCES tenants_agent (tenant_id, id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE comments_comment ADD CONSTRAINT comments_comment_proposal_id_in_tenant
    FOREIGN KEY (tenant_id, proposal_id) REFERENCES governance_proposal (tenant_id, id) DEFERRABLE INITIALLY DEFERRED;
