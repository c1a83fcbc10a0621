-- Row security of the tables of tenants: which rows each database role reaches, and what it may do with them.
-- What the acting roles may write of governed tables is not here: `sync_policy` derives it from the policy.

-- auth_group: The role groups are the same for all tenants: every role reads them, and none of these roles writes them.
GRANT SELECT ON auth_group TO @operator@, @worker@, @agent@, @staff@, @login@, @cross_tenant@;

-- auth_group_permissions: Only the login role reads it, for Django's permission checks.
GRANT SELECT ON auth_group_permissions TO @login@;

-- auth_permission: Permissions are the same for all tenants: every role reads them, and none of these roles writes them.
GRANT SELECT ON auth_permission TO @operator@, @worker@, @agent@, @staff@, @login@, @cross_tenant@;

-- django_content_type: Content types are the same for all tenants. The acting roles and the login role read them.
GRANT SELECT ON django_content_type TO @operator@, @worker@, @agent@, @staff@, @login@;

-- django_migrations: The login role reads which migrations ran.
GRANT SELECT ON django_migrations TO @login@;

-- django_session: Django's own session table, which stays empty: the product keeps sessions in tenants_browsersession.
GRANT SELECT, INSERT, UPDATE, DELETE ON django_session TO @login@;

-- tenants_accountevent: Account events of people, such as a new password: only the login role reaches them, since people
-- belong to no tenant. It adds rows and deletes old ones, and may change none.
GRANT SELECT, INSERT, DELETE ON tenants_accountevent TO @login@;

-- tenants_agent: People and workers see the agents of the tenant; an agent sees only its own row. A new agent needs a
-- service user of the same tenant, since the subquery sees no other service users. The cross-tenant role reads the columns
-- that token resolution and due work need.
ALTER TABLE tenants_agent ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY tenants_agent_tenant ON tenants_agent USING (tenant_id = app_tenant()) WITH CHECK (tenant_id = app_tenant());
CREATE POLICY tenants_agent_agent ON tenants_agent AS RESTRICTIVE TO @agent@
    USING (id = app_agent())
    WITH CHECK (id = app_agent());
CREATE POLICY tenants_agent_cross_tenant ON tenants_agent TO @cross_tenant@ USING (true) WITH CHECK (true);
CREATE POLICY tenants_agent_own_user ON tenants_agent AS RESTRICTIVE FOR INSERT TO @operator@, @worker@
    WITH CHECK (EXISTS (SELECT 1 FROM tenants_user AS its WHERE its.id = service_user_id AND its.is_service));
GRANT SELECT ON tenants_agent TO @operator@, @worker@, @agent@, @staff@;
GRANT SELECT (id, updated_at, key, has_learning, service_user_id, tenant_id, has_reflection, is_memory_distilled) ON tenants_agent TO @cross_tenant@;

-- tenants_agentgrants: Grants on agents. An agent sees only those on itself. The cross-tenant role reads them to resolve
-- tokens.
ALTER TABLE tenants_agentgrants ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY tenants_agentgrants_tenant ON tenants_agentgrants
    USING (tenant_id = app_tenant())
    WITH CHECK (tenant_id = app_tenant());
CREATE POLICY tenants_agentgrants_agent ON tenants_agentgrants AS RESTRICTIVE TO @agent@
    USING (agent_id = app_agent())
    WITH CHECK (agent_id = app_agent());
CREATE POLICY tenants_agentgrants_cross_tenant ON tenants_agentgrants FOR SELECT TO @cross_tenant@ USING (true);
GRANT SELECT ON tenants_agentgrants TO @operator@, @worker@, @agent@, @staff@;
GRANT SELECT (id, role, agent_id, tenant_id) ON tenants_agentgrants TO @cross_tenant@;

-- tenants_agentgroupobjectpermission: Guardian's rows behind the grants on an agent; operators insert and delete them
-- together with the grant. An agent sees only those on itself. The cross-tenant role reads them to resolve tokens.
ALTER TABLE tenants_agentgroupobjectpermission ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY tenants_agentgroupobjectpermission_tenant ON tenants_agentgroupobjectpermission
    USING (tenant_id = app_tenant())
    WITH CHECK (tenant_id = app_tenant());
CREATE POLICY tenants_agentgroupobjectpermission_agent ON tenants_agentgroupobjectpermission AS RESTRICTIVE TO @agent@
    USING (content_object_id = app_agent())
    WITH CHECK (content_object_id = app_agent());
CREATE POLICY tenants_agentgroupobjectpermission_cross_tenant ON tenants_agentgroupobjectpermission FOR SELECT TO @cross_tenant@
    USING (true);
GRANT SELECT, INSERT, DELETE ON tenants_agentgroupobjectpermission TO @operator@;
GRANT SELECT ON tenants_agentgroupobjectpermission TO @worker@, @agent@, @staff@;
GRANT SELECT (grants_id, permission_id) ON tenants_agentgroupobjectpermission TO @cross_tenant@;

-- tenants_agenttoken: Rows of the tenant; agents see none. The cross-tenant role finds a token before the tenant is known
-- and stamps its last use.
ALTER TABLE tenants_agenttoken ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY tenants_agenttoken_tenant ON tenants_agenttoken
    USING (tenant_id = app_tenant())
    WITH CHECK (tenant_id = app_tenant());
CREATE POLICY tenants_agenttoken_cross_tenant ON tenants_agenttoken TO @cross_tenant@ USING (true) WITH CHECK (true);
GRANT SELECT ON tenants_agenttoken TO @operator@, @worker@, @staff@;
GRANT SELECT, UPDATE (last_used_at) ON tenants_agenttoken TO @cross_tenant@;

-- tenants_agentuserobjectpermission: Guardian's rows behind the limits of members; operators insert and delete them together
-- with the limit. Agents see none.
ALTER TABLE tenants_agentuserobjectpermission ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY tenants_agentuserobjectpermission_tenant ON tenants_agentuserobjectpermission
    USING (tenant_id = app_tenant())
    WITH CHECK (tenant_id = app_tenant());
GRANT SELECT, INSERT, DELETE ON tenants_agentuserobjectpermission TO @operator@;
GRANT SELECT ON tenants_agentuserobjectpermission TO @worker@, @staff@;

-- tenants_browsersession: Sessions of people: only the login role reaches them, since people belong to no tenant.
GRANT SELECT, INSERT, UPDATE, DELETE ON tenants_browsersession TO @login@;

-- tenants_endpoint: Rows of the tenant; agents see none.
ALTER TABLE tenants_endpoint ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY tenants_endpoint_tenant ON tenants_endpoint
    USING (tenant_id = app_tenant())
    WITH CHECK (tenant_id = app_tenant());
GRANT SELECT ON tenants_endpoint TO @operator@, @worker@, @staff@;

-- tenants_invokableagent: Agent handoffs of the tenant. An agent sees only the handoffs from itself, and still not the row
-- of the other agent.
ALTER TABLE tenants_invokableagent ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY tenants_invokableagent_tenant ON tenants_invokableagent
    USING (tenant_id = app_tenant())
    WITH CHECK (tenant_id = app_tenant());
CREATE POLICY tenants_invokableagent_agent ON tenants_invokableagent AS RESTRICTIVE TO @agent@
    USING (agent_id = app_agent())
    WITH CHECK (agent_id = app_agent());
GRANT SELECT ON tenants_invokableagent TO @operator@, @worker@, @agent@, @staff@;

-- tenants_memberlimit: Rows of the tenant; agents see none.
ALTER TABLE tenants_memberlimit ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY tenants_memberlimit_tenant ON tenants_memberlimit
    USING (tenant_id = app_tenant())
    WITH CHECK (tenant_id = app_tenant());
GRANT SELECT ON tenants_memberlimit TO @operator@, @worker@, @staff@;

-- tenants_membership: Rows of the tenant; agents see none. The cross-tenant role reads them at sign-in, before a tenant is
-- known.
ALTER TABLE tenants_membership ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY tenants_membership_tenant ON tenants_membership
    USING (tenant_id = app_tenant())
    WITH CHECK (tenant_id = app_tenant());
CREATE POLICY tenants_membership_cross_tenant ON tenants_membership TO @cross_tenant@ USING (true) WITH CHECK (true);
GRANT SELECT ON tenants_membership TO @operator@, @worker@, @staff@;
GRANT SELECT (id, role, user_id, tenant_id, is_active, accepted_at) ON tenants_membership TO @cross_tenant@;

-- tenants_modelprice: Rows of the tenant; agents see none.
ALTER TABLE tenants_modelprice ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY tenants_modelprice_tenant ON tenants_modelprice
    USING (tenant_id = app_tenant())
    WITH CHECK (tenant_id = app_tenant());
GRANT SELECT ON tenants_modelprice TO @operator@, @worker@, @staff@;

-- tenants_recoverycode: Recovery codes of people: only the login role reaches them, since people belong to no tenant.
GRANT SELECT, INSERT, UPDATE, DELETE ON tenants_recoverycode TO @login@;

-- tenants_roletemplate: Role templates are the same for all tenants: every role reads them, and none of these roles writes
-- them.
GRANT SELECT ON tenants_roletemplate TO @operator@, @worker@, @agent@, @staff@, @login@, @cross_tenant@;

-- tenants_roletemplategroupobjectpermission: Grants of the role templates, the same for all tenants: every role reads them,
-- and none of these roles writes them.
GRANT SELECT ON tenants_roletemplategroupobjectpermission TO @operator@, @worker@, @agent@, @staff@, @login@, @cross_tenant@;

-- tenants_sealedsecret: Operators store and delete secrets but never read the sealed text. Only workers read it, and seal it
-- again when the sealing keys change. Agents and support staff see nothing.
ALTER TABLE tenants_sealedsecret ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY tenants_sealedsecret_tenant ON tenants_sealedsecret
    USING (tenant_id = app_tenant())
    WITH CHECK (tenant_id = app_tenant());
GRANT SELECT (id, created_at, tenant_id), INSERT, DELETE ON tenants_sealedsecret TO @operator@;
GRANT SELECT, UPDATE (ciphertext) ON tenants_sealedsecret TO @worker@;

-- tenants_secondfactor: Second factors of people: only the login role reaches them, since people belong to no tenant.
GRANT SELECT, INSERT, UPDATE, DELETE ON tenants_secondfactor TO @login@;

-- tenants_signinattempts: Sign-in attempts are counted before the person is known; only the login role reaches the counts.
GRANT SELECT, INSERT, UPDATE, DELETE ON tenants_signinattempts TO @login@;

-- tenants_staffaccess: Support access to the tenant: operators read who entered and why, support staff enter and leave.
-- Agents see none.
ALTER TABLE tenants_staffaccess ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY tenants_staffaccess_tenant ON tenants_staffaccess
    USING (tenant_id = app_tenant())
    WITH CHECK (tenant_id = app_tenant());
GRANT SELECT ON tenants_staffaccess TO @operator@, @worker@, @staff@;

-- tenants_tenant: An acting role sees its own tenant. A worker also sees the one tenant that a command names by its key, and
-- inserts a new tenant with an id that the login role took from the sequence. The cross-tenant role lists ids and keys for
-- commands that cover all tenants.
ALTER TABLE tenants_tenant ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY tenants_tenant_tenant ON tenants_tenant USING (id = app_tenant()) WITH CHECK (id = app_tenant());
CREATE POLICY tenant_by_key ON tenants_tenant FOR SELECT TO @worker@
    USING (key = nullif(current_setting('app.tenant_key', true), ''));
CREATE POLICY tenants_tenant_cross_tenant ON tenants_tenant FOR SELECT TO @cross_tenant@ USING (true);
GRANT SELECT ON tenants_tenant TO @operator@, @agent@, @staff@;
GRANT SELECT, INSERT ON tenants_tenant TO @worker@;
GRANT SELECT (id, key) ON tenants_tenant TO @cross_tenant@;
GRANT USAGE ON SEQUENCE tenants_tenant_id_seq TO @login@;

-- tenants_tenantgroupobjectpermission: Grants in which the tenant differs from the role templates; acting roles read them.
-- The cross-tenant role reads them to resolve tokens. `role_grants.sql` lets operators write them.
ALTER TABLE tenants_tenantgroupobjectpermission ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY tenants_tenantgroupobjectpermission_tenant ON tenants_tenantgroupobjectpermission
    USING (content_object_id = app_tenant())
    WITH CHECK (content_object_id = app_tenant());
CREATE POLICY tenants_tenantgroupobjectpermission_cross_tenant ON tenants_tenantgroupobjectpermission FOR SELECT TO @cross_tenant@
    USING (true);
GRANT SELECT ON tenants_tenantgroupobjectpermission TO @operator@, @worker@, @agent@, @staff@;
GRANT SELECT (content_object_id, group_id, permission_id) ON tenants_tenantgroupobjectpermission TO @cross_tenant@;

-- tenants_tenantsettings: Every acting role reads the settings of its tenant, agents included. The cross-tenant role reads
-- the time zone, the daily budget, the request limits and the time of the last change, for due work and token resolution.
ALTER TABLE tenants_tenantsettings ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY tenants_tenantsettings_tenant ON tenants_tenantsettings
    USING (tenant_id = app_tenant())
    WITH CHECK (tenant_id = app_tenant());
CREATE POLICY tenants_tenantsettings_cross_tenant ON tenants_tenantsettings TO @cross_tenant@ USING (true) WITH CHECK (true);
GRANT SELECT ON tenants_tenantsettings TO @operator@, @worker@, @agent@, @staff@;
GRANT SELECT (timezone, tenant_id, updated_at, day_budget_micro_usd, requests_per_minute, requests_per_minute_of_tenant) ON
    tenants_tenantsettings TO @cross_tenant@;

-- tenants_user: The login role reaches all users, to sign people in. Operators, workers and support staff see the members of
-- the tenant, the support staff who entered it and the service users of its agents, never password or session columns;
-- agents see none. Operators and workers insert service users of their own tenant, and no people.
ALTER TABLE tenants_user ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY service_user_of_tenant ON tenants_user FOR INSERT TO @operator@, @worker@
    WITH CHECK ( is_service AND starts_with(username, 'agent:' || app_tenant() || ':') );
CREATE POLICY user_of_tenant ON tenants_user FOR SELECT TO @operator@, @staff@, @worker@
    USING ((EXISTS ( SELECT 1 FROM tenants_membership member WHERE member.user_id = tenants_user.id)) OR (EXISTS ( SELECT 1 FROM tenants_staffaccess visit WHERE visit.user_id = tenants_user.id)) OR is_service AND starts_with(username::text, ('agent:'::text || app_tenant()) || ':'::text));
CREATE POLICY user_cross_tenant ON tenants_user FOR SELECT TO @cross_tenant@ USING (true);
CREATE POLICY user_signs_in ON tenants_user TO @login@ USING (true) WITH CHECK (true);
GRANT SELECT (id, is_superuser, username, first_name, last_name, email, is_staff, is_active, is_service,
    email_verified_at, account_claimed_at, second_factor_enabled_at), INSERT ON tenants_user TO @operator@, @worker@;
GRANT SELECT (id, is_superuser, username, first_name, last_name, email, is_staff, is_active, is_service,
    email_verified_at, account_claimed_at, second_factor_enabled_at) ON tenants_user TO @staff@;
GRANT SELECT, INSERT, UPDATE ON tenants_user TO @login@;
GRANT SELECT (id, is_superuser, username, is_staff, is_service, email_verified_at, account_claimed_at) ON tenants_user TO @cross_tenant@;

-- tenants_user_groups: The login role reads it for Django's permission checks, the cross-tenant role to find mixed roles.
GRANT SELECT ON tenants_user_groups TO @login@, @cross_tenant@;

-- tenants_user_user_permissions: Only the login role reads it, for Django's permission checks.
GRANT SELECT ON tenants_user_user_permissions TO @login@;
