-- Keys, checks and indexes of runtime that Django's models cannot state.

-- Unique keys: Tenant and id together are a key, so that other tables can refer to a row together with its tenant.
ALTER TABLE runtime_session ADD CONSTRAINT runtime_session_tenant_row
    UNIQUE (tenant_id, id);
ALTER TABLE runtime_snapshotpart ADD CONSTRAINT runtime_snapshotpart_tenant_row
    UNIQUE (tenant_id, id);
ALTER TABLE runtime_spend ADD CONSTRAINT runtime_spend_tenant_row
    UNIQUE (tenant_id, id);
ALTER TABLE runtime_turn ADD CONSTRAINT runtime_turn_tenant_row
    UNIQUE (tenant_id, id);

-- References that cannot leave the tenant: References carry the tenant, so no row can point into another tenant.
ALTER TABLE runtime_modelcall ADD CONSTRAINT runtime_modelcall_turn_id_in_tenant
    FOREIGN KEY (tenant_id, turn_id) REFERENCES runtime_turn (tenant_id, id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE runtime_session ADD CONSTRAINT runtime_session_agent_id_in_tenant
    FOREIGN KEY (tenant_id, agent_id) REFERENCES tenants_agent (tenant_id, id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE runtime_session ADD CONSTRAINT runtime_session_conversation_id_in_tenant
    FOREIGN KEY (tenant_id, conversation_id) REFERENCES conversations_conversation (tenant_id, id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE runtime_session ADD CONSTRAINT runtime_session_tools_id_in_tenant
    FOREIGN KEY (tenant_id, tools_id) REFERENCES runtime_snapshotpart (tenant_id, id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE runtime_sessionpart ADD CONSTRAINT runtime_sessionpart_part_id_in_tenant
    FOREIGN KEY (tenant_id, part_id) REFERENCES runtime_snapshotpart (tenant_id, id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE runtime_sessionpart ADD CONSTRAINT runtime_sessionpart_session_id_in_tenant
    FOREIGN KEY (tenant_id, session_id) REFERENCES runtime_session (tenant_id, id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE runtime_spend ADD CONSTRAINT runtime_spend_agent_id_in_tenant
    FOREIGN KEY (tenant_id, agent_id) REFERENCES tenants_agent (tenant_id, id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE runtime_toolstep ADD CONSTRAINT runtime_toolstep_turn_id_in_tenant
    FOREIGN KEY (tenant_id, turn_id) REFERENCES runtime_turn (tenant_id, id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE runtime_turn ADD CONSTRAINT runtime_turn_conversation_id_in_tenant
    FOREIGN KEY (tenant_id, conversation_id) REFERENCES conversations_conversation (tenant_id, id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE runtime_turn ADD CONSTRAINT runtime_turn_delay_notice_id_in_tenant
    FOREIGN KEY (tenant_id, delay_notice_id) REFERENCES conversations_message (tenant_id, id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE runtime_turn ADD CONSTRAINT runtime_turn_reply_id_in_tenant
    FOREIGN KEY (tenant_id, reply_id) REFERENCES conversations_message (tenant_id, id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE runtime_turn ADD CONSTRAINT runtime_turn_session_id_in_tenant
    FOREIGN KEY (tenant_id, session_id) REFERENCES runtime_session (tenant_id, id) DEFERRABLE INITIALLY DEFERRED;

-- Indexes over expressions: Finds the prompt parts with words of a row, for the exposure of that row.
CREATE INDEX part_by_owner ON runtime_snapshotpart USING gin (list_part_owners(segments));

-- Storage: These rows are updated often. Free space on each page lets PostgreSQL put the new version beside the old one,
-- without new index entries.
ALTER TABLE runtime_spend SET (fillfactor = 50);
ALTER TABLE runtime_turn SET (fillfactor = 70);
