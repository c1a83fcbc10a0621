-- Keys, checks and indexes of tenants that Django's models cannot state.

-- Columns: Constant columns for the references to users below: an agent acts as a service user, a member is a person.
ALTER TABLE tenants_agent ADD COLUMN user_is_service boolean NOT NULL DEFAULT true;
ALTER TABLE tenants_membership ADD COLUMN user_is_service boolean NOT NULL DEFAULT false;

-- Unique keys: Tenant and id together are unique, so that references can carry the tenant. A user's id and kind are unique
-- together, so that references can demand the kind.
ALTER TABLE tenants_agent ADD CONSTRAINT tenants_agent_tenant_row
    UNIQUE (tenant_id, id);
ALTER TABLE tenants_agentgrants ADD CONSTRAINT tenants_agentgrants_tenant_row
    UNIQUE (tenant_id, id);
ALTER TABLE tenants_endpoint ADD CONSTRAINT tenants_endpoint_tenant_row
    UNIQUE (tenant_id, id);
ALTER TABLE tenants_memberlimit ADD CONSTRAINT tenants_memberlimit_tenant_row
    UNIQUE (tenant_id, id);
ALTER TABLE tenants_membership ADD CONSTRAINT tenants_membership_tenant_row
    UNIQUE (tenant_id, id);
ALTER TABLE tenants_sealedsecret ADD CONSTRAINT tenants_sealedsecret_tenant_row
    UNIQUE (tenant_id, id);
ALTER TABLE tenants_staffaccess ADD CONSTRAINT tenants_staffaccess_tenant_row
    UNIQUE (tenant_id, id);
ALTER TABLE tenants_user ADD CONSTRAINT user_id_and_is_service
    UNIQUE (id, is_service);

-- Checks and unique columns: Each constant column keeps its one value.
ALTER TABLE tenants_agent ADD CONSTRAINT agent_acts_as_service_user
    CHECK (user_is_service);
ALTER TABLE tenants_membership ADD CONSTRAINT member_is_no_service_user
    CHECK (NOT user_is_service);

-- References that cannot leave the tenant: References carry the tenant, so no row can point into another tenant. The two
-- references to users carry the kind instead: no service user becomes a member, and no agent acts as a person.
ALTER TABLE tenants_agent ADD CONSTRAINT agent_user_is_a_service_user
    FOREIGN KEY (service_user_id, user_is_service) REFERENCES tenants_user (id, is_service);
ALTER TABLE tenants_agent ADD CONSTRAINT tenants_agent_distil_endpoint_long_id_in_tenant
    FOREIGN KEY (tenant_id, distil_endpoint_long_id) REFERENCES tenants_endpoint (tenant_id, id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE tenants_agent ADD CONSTRAINT tenants_agent_distil_endpoint_mid_id_in_tenant
    FOREIGN KEY (tenant_id, distil_endpoint_mid_id) REFERENCES tenants_endpoint (tenant_id, id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE tenants_agent ADD CONSTRAINT tenants_agent_endpoint_id_in_tenant
    FOREIGN KEY (tenant_id, endpoint_id) REFERENCES tenants_endpoint (tenant_id, id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE tenants_agentgrants ADD CONSTRAINT tenants_agentgrants_agent_id_in_tenant
    FOREIGN KEY (tenant_id, agent_id) REFERENCES tenants_agent (tenant_id, id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE tenants_agentgroupobjectpermission ADD CONSTRAINT tenants_agentgroupobjectpermission_content_object_id_in_tenant
    FOREIGN KEY (tenant_id, content_object_id) REFERENCES tenants_agent (tenant_id, id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE tenants_agentgroupobjectpermission ADD CONSTRAINT tenants_agentgroupobjectpermission_grants_id_in_tenant
    FOREIGN KEY (tenant_id, grants_id) REFERENCES tenants_agentgrants (tenant_id, id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE tenants_agenttoken ADD CONSTRAINT tenants_agenttoken_agent_id_in_tenant
    FOREIGN KEY (tenant_id, agent_id) REFERENCES tenants_agent (tenant_id, id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE tenants_agentuserobjectpermission ADD CONSTRAINT tenants_agentuserobjectpermission_content_object_id_in_tenant
    FOREIGN KEY (tenant_id, content_object_id) REFERENCES tenants_agent (tenant_id, id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE tenants_agentuserobjectpermission ADD CONSTRAINT tenants_agentuserobjectpermission_limit_id_in_tenant
    FOREIGN KEY (tenant_id, limit_id) REFERENCES tenants_memberlimit (tenant_id, id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE tenants_endpoint ADD CONSTRAINT tenants_endpoint_secret_id_in_tenant
    FOREIGN KEY (tenant_id, secret_id) REFERENCES tenants_sealedsecret (tenant_id, id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE tenants_invokableagent ADD CONSTRAINT tenants_invokableagent_agent_id_in_tenant
    FOREIGN KEY (tenant_id, agent_id) REFERENCES tenants_agent (tenant_id, id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE tenants_invokableagent ADD CONSTRAINT tenants_invokableagent_callee_id_in_tenant
    FOREIGN KEY (tenant_id, callee_id) REFERENCES tenants_agent (tenant_id, id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE tenants_memberlimit ADD CONSTRAINT tenants_memberlimit_member_id_in_tenant
    FOREIGN KEY (tenant_id, member_id) REFERENCES tenants_membership (tenant_id, id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE tenants_membership ADD CONSTRAINT member_is_a_person
    FOREIGN KEY (user_id, user_is_service) REFERENCES tenants_user (id, is_service);
ALTER TABLE tenants_tenantsettings ADD CONSTRAINT tenants_tenantsettings_former_proof_secret_id_in_tenant
    FOREIGN KEY (tenant_id, former_proof_secret_id) REFERENCES tenants_sealedsecret (tenant_id, id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE tenants_tenantsettings ADD CONSTRAINT tenants_tenantsettings_proof_secret_id_in_tenant
    FOREIGN KEY (tenant_id, proof_secret_id) REFERENCES tenants_sealedsecret (tenant_id, id) DEFERRABLE INITIALLY DEFERRED;
