-- Keys, checks and indexes of learning that Django's models cannot state.

-- Unique keys: Tenant and id together are a key, so that other tables can refer to a row together with its tenant.
ALTER TABLE learning_editcluster ADD CONSTRAINT learning_editcluster_tenant_row
    UNIQUE (tenant_id, id);
ALTER TABLE learning_example ADD CONSTRAINT learning_example_tenant_row
    UNIQUE (tenant_id, id);
ALTER TABLE learning_learningversion ADD CONSTRAINT learning_learningversion_tenant_row
    UNIQUE (tenant_id, id);
ALTER TABLE learning_lesson ADD CONSTRAINT learning_lesson_tenant_row
    UNIQUE (tenant_id, id);
ALTER TABLE learning_lessoncase ADD CONSTRAINT learning_lessoncase_tenant_row
    UNIQUE (tenant_id, id);
ALTER TABLE learning_contradiction ADD CONSTRAINT learning_contradiction_tenant_row
    UNIQUE (tenant_id, id);

-- Checks and unique columns: Django makes a one-to-one column unique across all tenants. Here it is unique within the
-- tenant, because a violated key would reveal that another tenant has such a row.
ALTER TABLE learning_digestclaim DROP CONSTRAINT learning_digestclaim_agent_id_key, ADD CONSTRAINT learning_digestclaim_agent_id_key UNIQUE (tenant_id, agent_id);
ALTER TABLE learning_extraction DROP CONSTRAINT learning_extraction_conversation_id_key, ADD CONSTRAINT learning_extraction_conversation_id_key UNIQUE (tenant_id, conversation_id);
ALTER TABLE learning_extractionclaim DROP CONSTRAINT learning_extractionclaim_conversation_id_key, ADD CONSTRAINT learning_extractionclaim_conversation_id_key UNIQUE (tenant_id, conversation_id);
ALTER TABLE learning_contradictionscan DROP CONSTRAINT learning_contradictionscan_agent_id_key, ADD CONSTRAINT learning_contradictionscan_agent_id_key UNIQUE (tenant_id, agent_id);

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
ALTER TABLE learning_editcluster ADD CONSTRAINT learning_editcluster_agent_id_in_tenant
    FOREIGN KEY (tenant_id, agent_id) REFERENCES tenants_agent (tenant_id, id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE learning_editclustercase ADD CONSTRAINT learning_editclustercase_case_id_in_tenant
    FOREIGN KEY (tenant_id, case_id) REFERENCES learning_lessoncase (tenant_id, id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE learning_editclustercase ADD CONSTRAINT learning_editclustercase_cluster_id_in_tenant
    FOREIGN KEY (tenant_id, cluster_id) REFERENCES learning_editcluster (tenant_id, id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE learning_example ADD CONSTRAINT learning_example_agent_id_in_tenant
    FOREIGN KEY (tenant_id, agent_id) REFERENCES tenants_agent (tenant_id, id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE learning_example ADD CONSTRAINT learning_example_lesson_id_in_tenant
    FOREIGN KEY (tenant_id, lesson_id) REFERENCES learning_lesson (tenant_id, id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE learning_learningversion ADD CONSTRAINT learning_learningversion_agent_id_in_tenant
    FOREIGN KEY (tenant_id, agent_id) REFERENCES tenants_agent (tenant_id, id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE learning_lesson ADD CONSTRAINT learning_lesson_agent_id_in_tenant
    FOREIGN KEY (tenant_id, agent_id) REFERENCES tenants_agent (tenant_id, id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE learning_lessoncase ADD CONSTRAINT learning_lessoncase_agent_id_in_tenant
    FOREIGN KEY (tenant_id, agent_id) REFERENCES tenants_agent (tenant_id, id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE learning_lessoncase ADD CONSTRAINT learning_lessoncase_conversation_id_in_tenant
    FOREIGN KEY (tenant_id, conversation_id) REFERENCES conversations_conversation (tenant_id, id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE learning_lessoncase ADD CONSTRAINT learning_lessoncase_lesson_id_in_tenant
    FOREIGN KEY (tenant_id, lesson_id) REFERENCES learning_lesson (tenant_id, id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE learning_contradiction ADD CONSTRAINT learning_contradiction_agent_id_in_tenant
    FOREIGN KEY (tenant_id, agent_id) REFERENCES tenants_agent (tenant_id, id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE learning_contradictionscan ADD CONSTRAINT learning_contradictionscan_agent_id_in_tenant
    FOREIGN KEY (tenant_id, agent_id) REFERENCES tenants_agent (tenant_id, id) DEFERRABLE INITIALLY DEFERRED;
