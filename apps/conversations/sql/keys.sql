-- Keys, checks and indexes of conversations that Django's models cannot state.

-- Unique keys: Tenant and id together are a key, so that other tables can refer to a row together with its tenant.
ALTER TABLE conversations_conversation ADD CONSTRAINT conversations_conversation_tenant_row
    UNIQUE (tenant_id, id);
ALTER TABLE conversations_message ADD CONSTRAINT conversations_message_tenant_row
    UNIQUE (tenant_id, id);

-- References that cannot leave the tenant: References carry the tenant, so no row can point into another tenant. The member
-- of a conversation must have a membership of the tenant.
ALTER TABLE conversations_conversation ADD CONSTRAINT conversations_conversation_agent_id_in_tenant
    FOREIGN KEY (tenant_id, agent_id) REFERENCES tenants_agent (tenant_id, id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE conversations_conversation ADD CONSTRAINT conversations_conversation_follows_id_in_tenant
    FOREIGN KEY (tenant_id, follows_id) REFERENCES conversations_conversation (tenant_id, id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE conversations_conversation ADD CONSTRAINT conversations_conversation_member_in_tenant
    FOREIGN KEY (tenant_id, member_user_id) REFERENCES tenants_membership (tenant_id, user_id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE conversations_conversation ADD CONSTRAINT conversations_conversation_parent_id_in_tenant
    FOREIGN KEY (tenant_id, parent_id) REFERENCES conversations_conversation (tenant_id, id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE conversations_inboundevent ADD CONSTRAINT conversations_inboundevent_conversation_id_in_tenant
    FOREIGN KEY (tenant_id, conversation_id) REFERENCES conversations_conversation (tenant_id, id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE conversations_message ADD CONSTRAINT conversations_message_conversation_id_in_tenant
    FOREIGN KEY (tenant_id, conversation_id) REFERENCES conversations_conversation (tenant_id, id) DEFERRABLE INITIALLY DEFERRED;

-- Indexes over expressions: Search index over the words of messages. Each entry contains the tenant as a word of its own, so
-- a search only reads rows of one tenant. Results of tools are not searched.
CREATE INDEX message_full_text ON conversations_message USING gin (build_search_vector(tenant_id, text)) WHERE sender <> 'tool';
