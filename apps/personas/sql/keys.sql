-- Keys, checks and indexes of personas that Django's models cannot state.

-- References that cannot leave the tenant: References carry the tenant, so no row can point into another tenant. The overlay
-- of a member refers to the membership, so its owner is always a member of the tenant.
ALTER TABLE personas_identitycard ADD CONSTRAINT personas_identitycard_agent_id_in_tenant
    FOREIGN KEY (tenant_id, agent_id) REFERENCES tenants_agent (tenant_id, id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE personas_memberoverlay ADD CONSTRAINT personas_memberoverlay_agent_id_in_tenant
    FOREIGN KEY (tenant_id, agent_id) REFERENCES tenants_agent (tenant_id, id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE personas_memberoverlay ADD CONSTRAINT personas_memberoverlay_member_in_tenant
    FOREIGN KEY (tenant_id, member_user_id) REFERENCES tenants_membership (tenant_id, user_id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE personas_persona ADD CONSTRAINT personas_persona_agent_id_in_tenant
    FOREIGN KEY (tenant_id, agent_id) REFERENCES tenants_agent (tenant_id, id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE personas_personaoverlay ADD CONSTRAINT personas_personaoverlay_agent_id_in_tenant
    FOREIGN KEY (tenant_id, agent_id) REFERENCES tenants_agent (tenant_id, id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE personas_standingrule ADD CONSTRAINT personas_standingrule_agent_id_in_tenant
    FOREIGN KEY (tenant_id, agent_id) REFERENCES tenants_agent (tenant_id, id) DEFERRABLE INITIALLY DEFERRED;
