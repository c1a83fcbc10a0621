-- Keys, checks and indexes of desk that Django's models cannot state.

-- Unique keys: Tenant and id together are a key, so that other tables can refer to a row together with its tenant.
ALTER TABLE desk_draft ADD CONSTRAINT desk_draft_tenant_row
    UNIQUE (tenant_id, id);
ALTER TABLE desk_escalation ADD CONSTRAINT desk_escalation_tenant_row
    UNIQUE (tenant_id, id);
ALTER TABLE desk_report ADD CONSTRAINT desk_report_tenant_row
    UNIQUE (tenant_id, id);

-- References that cannot leave the tenant: References carry the tenant, so no row can point into another tenant.
ALTER TABLE desk_draft ADD CONSTRAINT desk_draft_agent_id_in_tenant
    FOREIGN KEY (tenant_id, agent_id) REFERENCES tenants_agent (tenant_id, id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE desk_draft ADD CONSTRAINT desk_draft_conversation_id_in_tenant
    FOREIGN KEY (tenant_id, conversation_id) REFERENCES conversations_conversation (tenant_id, id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE desk_draft ADD CONSTRAINT desk_draft_message_id_in_tenant
    FOREIGN KEY (tenant_id, message_id) REFERENCES conversations_message (tenant_id, id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE desk_escalation ADD CONSTRAINT desk_escalation_agent_id_in_tenant
    FOREIGN KEY (tenant_id, agent_id) REFERENCES tenants_agent (tenant_id, id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE desk_escalation ADD CONSTRAINT desk_escalation_conversation_id_in_tenant
    FOREIGN KEY (tenant_id, conversation_id) REFERENCES conversations_conversation (tenant_id, id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE desk_sendrule ADD CONSTRAINT desk_sendrule_agent_id_in_tenant
    FOREIGN KEY (tenant_id, agent_id) REFERENCES tenants_agent (tenant_id, id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE desk_sendrule ADD CONSTRAINT desk_sendrule_skill_id_in_tenant
    FOREIGN KEY (tenant_id, skill_id) REFERENCES skills_skill (tenant_id, id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE desk_report ADD CONSTRAINT desk_report_agent_id_in_tenant
    FOREIGN KEY (tenant_id, agent_id) REFERENCES tenants_agent (tenant_id, id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE desk_report ADD CONSTRAINT desk_report_conversation_id_in_tenant
    FOREIGN KEY (tenant_id, conversation_id) REFERENCES conversations_conversation (tenant_id, id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE desk_report ADD CONSTRAINT desk_report_message_id_in_tenant
    FOREIGN KEY (tenant_id, message_id) REFERENCES conversations_message (tenant_id, id) DEFERRABLE INITIALLY DEFERRED;
