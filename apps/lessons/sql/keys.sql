-- Keys, checks and indexes of lessons that Django's models cannot state.

-- Unique keys: Tenant and id together are a key, so that other tables can refer to a row together with its tenant.
ALTER TABLE lessons_editcluster ADD CONSTRAINT lessons_editcluster_tenant_row
    UNIQUE (tenant_id, id);
ALTER TABLE lessons_example ADD CONSTRAINT lessons_example_tenant_row
    UNIQUE (tenant_id, id);
ALTER TABLE lessons_learningversion ADD CONSTRAINT lessons_learningversion_tenant_row
    UNIQUE (tenant_id, id);
ALTER TABLE lessons_lesson ADD CONSTRAINT lessons_lesson_tenant_row
    UNIQUE (tenant_id, id);
ALTER TABLE lessons_lessoncase ADD CONSTRAINT lessons_lessoncase_tenant_row
    UNIQUE (tenant_id, id);

-- References that cannot leave the tenant: References carry the tenant, so no row can point into another tenant.
ALTER TABLE lessons_editcluster ADD CONSTRAINT lessons_editcluster_agent_id_in_tenant
    FOREIGN KEY (tenant_id, agent_id) REFERENCES tenants_agent (tenant_id, id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE lessons_editmember ADD CONSTRAINT lessons_editmember_case_id_in_tenant
    FOREIGN KEY (tenant_id, case_id) REFERENCES lessons_lessoncase (tenant_id, id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE lessons_editmember ADD CONSTRAINT lessons_editmember_cluster_id_in_tenant
    FOREIGN KEY (tenant_id, cluster_id) REFERENCES lessons_editcluster (tenant_id, id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE lessons_example ADD CONSTRAINT lessons_example_agent_id_in_tenant
    FOREIGN KEY (tenant_id, agent_id) REFERENCES tenants_agent (tenant_id, id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE lessons_example ADD CONSTRAINT lessons_example_lesson_id_in_tenant
    FOREIGN KEY (tenant_id, lesson_id) REFERENCES lessons_lesson (tenant_id, id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE lessons_learningversion ADD CONSTRAINT lessons_learningversion_agent_id_in_tenant
    FOREIGN KEY (tenant_id, agent_id) REFERENCES tenants_agent (tenant_id, id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE lessons_lesson ADD CONSTRAINT lessons_lesson_agent_id_in_tenant
    FOREIGN KEY (tenant_id, agent_id) REFERENCES tenants_agent (tenant_id, id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE lessons_lessoncase ADD CONSTRAINT lessons_lessoncase_agent_id_in_tenant
    FOREIGN KEY (tenant_id, agent_id) REFERENCES tenants_agent (tenant_id, id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE lessons_lessoncase ADD CONSTRAINT lessons_lessoncase_conversation_id_in_tenant
    FOREIGN KEY (tenant_id, conversation_id) REFERENCES conversations_conversation (tenant_id, id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE lessons_lessoncase ADD CONSTRAINT lessons_lessoncase_lesson_id_in_tenant
    FOREIGN KEY (tenant_id, lesson_id) REFERENCES lessons_lesson (tenant_id, id) DEFERRABLE INITIALLY DEFERRED;
