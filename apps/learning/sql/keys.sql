-- Keys, checks and indexes of learning that Django's models cannot state.

-- Checks and unique columns: Django makes a one-to-one column unique across all tenants. Here it is unique within the
-- tenant, because a violated key would reveal that another tenant has such a row.
ALTER TABLE learning_digestclaim DROP CONSTRAINT learning_digestclaim_agent_id_key, ADD CONSTRAINT learning_digestclaim_agent_id_key UNIQUE (tenant_id, agent_id);
ALTER TABLE learning_extraction DROP CONSTRAINT learning_extraction_conversation_id_key, ADD CONSTRAINT learning_extraction_conversation_id_key UNIQUE (tenant_id, conversation_id);
ALTER TABLE learning_extractionclaim DROP CONSTRAINT learning_extractionclaim_conversation_id_key, ADD CONSTRAINT learning_extractionclaim_conversation_id_key UNIQUE (tenant_id, conversation_id);

-- References that cannot leave the tenant: References carry the tenant, so no row can point into another tenant.
ALTER TABLE learning_digestclaim ADD CONSTRAINT learning_digestclaim_agent_id_in_tenant
    FOREIGN KEY (tenant_id, agent_id) REFERENCES tenants_agent (tenant_id, id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE learning_digestrun ADD CONSTRAINT learning_digestrun_agent_id_in_tenant
    FOREIGN KEY (tenant_id, agent_id) REFERENCES tenants_agent (tenant_id, id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE learning_extraction ADD CONSTRAINT learning_extraction_agent_id_in_tenant
    FOREIGN KEY (tenant_id, agent_id) REFERENCES tenants_agent (tenant_id, id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE learning_extraction ADD CONSTRAINT learning_extraction_conversation_id_in_tenant
    FOREIGN KEY (tenant_id, conversation_id) REFERENCES conversations_conversation (tenant_id, id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE learning_extractionclaim ADD CONSTRAINT learning_extractionclaim_conversation_id_in_tenant
    FOREIGN KEY (tenant_id, conversation_id) REFERENCES conversations_conversation (tenant_id, id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE learning_reflection ADD CONSTRAINT learning_reflection_agent_id_in_tenant
    FOREIGN KEY (tenant_id, agent_id) REFERENCES tenants_agent (tenant_id, id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE learning_tierclock ADD CONSTRAINT learning_tierclock_agent_id_in_tenant
    FOREIGN KEY (tenant_id, agent_id) REFERENCES tenants_agent (tenant_id, id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE learning_tierrun ADD CONSTRAINT learning_tierrun_agent_id_in_tenant
    FOREIGN KEY (tenant_id, agent_id) REFERENCES tenants_agent (tenant_id, id) DEFERRABLE INITIALLY DEFERRED;
