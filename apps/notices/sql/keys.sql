-- Keys, checks and indexes of notices that Django's models cannot state.

-- Unique keys: Tenant and id together are a key, so that other tables can refer to a row together with its tenant.
ALTER TABLE notices_noticeterms ADD CONSTRAINT notices_noticeterms_tenant_row
    UNIQUE (tenant_id, id);

-- References that cannot leave the tenant: References carry the tenant, so no row can point into another tenant.
ALTER TABLE notices_notice ADD CONSTRAINT notices_notice_terms_id_in_tenant
    FOREIGN KEY (tenant_id, terms_id) REFERENCES notices_noticeterms (tenant_id, id) DEFERRABLE INITIALLY DEFERRED;
