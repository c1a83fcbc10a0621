-- Keys, checks and indexes of tools that Django's models cannot state.

-- Unique keys: Tenant and id together are unique, so that references can carry the tenant.
ALTER TABLE tools_agenttool ADD CONSTRAINT tools_agenttool_tenant_row
    UNIQUE (tenant_id, id);
ALTER TABLE tools_servertool ADD CONSTRAINT tools_servertool_tenant_row
    UNIQUE (tenant_id, id);
ALTER TABLE tools_toolapproval ADD CONSTRAINT tools_toolapproval_tenant_row
    UNIQUE (tenant_id, id);
ALTER TABLE tools_toolserver ADD CONSTRAINT tools_toolserver_tenant_row
    UNIQUE (tenant_id, id);

-- Checks and unique columns: Unique within the tenant, in place of Django's plain unique column: a violation must not reveal
-- a row of another tenant.
ALTER TABLE tools_toollisting DROP CONSTRAINT tools_toollisting_server_id_key, ADD CONSTRAINT tools_toollisting_server_id_key UNIQUE (tenant_id, server_id);

-- References that cannot leave the tenant: References carry the tenant, so no row can point into another tenant.
ALTER TABLE tools_agenttool ADD CONSTRAINT tools_agenttool_agent_id_in_tenant
    FOREIGN KEY (tenant_id, agent_id) REFERENCES tenants_agent (tenant_id, id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE tools_agenttool ADD CONSTRAINT tools_agenttool_tool_id_in_tenant
    FOREIGN KEY (tenant_id, tool_id) REFERENCES tools_servertool (tenant_id, id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE tools_servertool ADD CONSTRAINT tools_servertool_server_id_in_tenant
    FOREIGN KEY (tenant_id, server_id) REFERENCES tools_toolserver (tenant_id, id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE tools_toolapproval ADD CONSTRAINT tools_toolapproval_agent_id_in_tenant
    FOREIGN KEY (tenant_id, agent_id) REFERENCES tenants_agent (tenant_id, id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE tools_toolapproval ADD CONSTRAINT tools_toolapproval_conversation_id_in_tenant
    FOREIGN KEY (tenant_id, conversation_id) REFERENCES conversations_conversation (tenant_id, id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE tools_toollisting ADD CONSTRAINT tools_toollisting_server_id_in_tenant
    FOREIGN KEY (tenant_id, server_id) REFERENCES tools_toolserver (tenant_id, id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE tools_toolserver ADD CONSTRAINT tools_toolserver_secret_id_in_tenant
    FOREIGN KEY (tenant_id, secret_id) REFERENCES tenants_sealedsecret (tenant_id, id) DEFERRABLE INITIALLY DEFERRED;
