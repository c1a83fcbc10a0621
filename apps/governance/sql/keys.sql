-- Keys, checks and indexes of governance that Django's models cannot state.

-- Unique keys: Tenant and id together are unique, so that references can carry the tenant.
ALTER TABLE governance_changerecord ADD CONSTRAINT governance_changerecord_tenant_row
    UNIQUE (tenant_id, id);
ALTER TABLE governance_proposal ADD CONSTRAINT governance_proposal_tenant_row
    UNIQUE (tenant_id, id);

-- Checks and unique columns: Unique within the tenant, in place of Django's plain unique column: a violation must not reveal
-- a row of another tenant.
ALTER TABLE governance_changetext DROP CONSTRAINT governance_changetext_record_id_key, ADD CONSTRAINT governance_changetext_record_id_key UNIQUE (tenant_id, record_id);

-- References that cannot leave the tenant: References carry the tenant, so no row can point into another tenant.
ALTER TABLE governance_approval ADD CONSTRAINT governance_approval_proposal_id_in_tenant
    FOREIGN KEY (tenant_id, proposal_id) REFERENCES governance_proposal (tenant_id, id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE governance_changetext ADD CONSTRAINT governance_changetext_record_id_in_tenant
    FOREIGN KEY (tenant_id, record_id) REFERENCES governance_changerecord (tenant_id, id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE governance_proposal ADD CONSTRAINT governance_proposal_agent_id_in_tenant
    FOREIGN KEY (tenant_id, agent_id) REFERENCES tenants_agent (tenant_id, id) DEFERRABLE INITIALLY DEFERRED;

-- Indexes over expressions: The first index finds records by a fact in their evidence, the other two serve full-text search.
CREATE INDEX change_by_evidence ON governance_changerecord USING gin (evidence jsonb_path_ops) WHERE evidence <> '{}';
CREATE INDEX change_full_text ON governance_changetext USING gin (build_search_vector(tenant_id, collect_changed_words(before, after, reason)));
CREATE INDEX proposal_full_text ON governance_proposal USING gin ((build_search_vector(tenant_id, target_label || ' ' || rationale)
            || to_tsvector('pg_catalog.simple', coalesce(edited_content, content))));
