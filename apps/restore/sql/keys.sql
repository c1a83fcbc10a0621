-- Keys, checks and indexes of restoration that Django's models cannot state.

-- References that cannot leave the tenant: References carry the tenant, so no row can point into another tenant.
ALTER TABLE restore_checkpoint ADD CONSTRAINT restore_checkpoint_agent_id_in_tenant
    FOREIGN KEY (tenant_id, agent_id) REFERENCES tenants_agent (tenant_id, id) DEFERRABLE INITIALLY DEFERRED;
