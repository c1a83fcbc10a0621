-- Keys, checks and indexes of review that Django's models cannot state.

-- Unique keys: Tenant and id together are a key, so that other tables can refer to a row together with its tenant.
ALTER TABLE review_bulkdecision ADD CONSTRAINT review_bulkdecision_tenant_row
    UNIQUE (tenant_id, id);
ALTER TABLE review_comment ADD CONSTRAINT review_comment_tenant_row
    UNIQUE (tenant_id, id);

-- References that cannot leave the tenant: References carry the tenant, so no row can point into another tenant.
ALTER TABLE review_bulkitem ADD CONSTRAINT review_bulkitem_decision_id_in_tenant
    FOREIGN KEY (tenant_id, decision_id) REFERENCES review_bulkdecision (tenant_id, id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE review_comment ADD CONSTRAINT review_comment_agent_id_in_tenant
    FOREIGN KEY (tenant_id, agent_id) REFERENCES tenants_agent (tenant_id, id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE review_comment ADD CONSTRAINT review_comment_proposal_id_in_tenant
    FOREIGN KEY (tenant_id, proposal_id) REFERENCES governance_proposal (tenant_id, id) DEFERRABLE INITIALLY DEFERRED;
