"""The wall around tenants, people, agents and tokens, and two of the three crossings before a tenant is known."""

from typing import ClassVar

from django.db import migrations

from apps.governance.database import ComposeForeignKey, ComposeKey, RaiseWall, RoleSQL, Wall

# Tables without a tenant: what Django and guardian look up for everybody, the sessions of people, the people.
SHARED = """
GRANT SELECT ON django_content_type, auth_permission, auth_group, tenants_roletemplate,
    tenants_roletemplategroupobjectpermission TO @login@, @operator@, @worker@, @agent@;
GRANT SELECT ON django_migrations TO @login@;
GRANT USAGE ON SEQUENCE tenants_tenant_id_seq TO @login@;
GRANT SELECT, INSERT, UPDATE, DELETE ON django_session TO @login@;
GRANT SELECT ON tenants_user_groups, tenants_user_user_permissions, auth_group_permissions TO @login@
"""
PEOPLE = """
ALTER TABLE tenants_user ENABLE ROW LEVEL SECURITY;
ALTER TABLE tenants_user FORCE ROW LEVEL SECURITY;
GRANT SELECT, INSERT, UPDATE ON tenants_user TO @login@;
GRANT INSERT ON tenants_user TO @operator@, @worker@;
GRANT SELECT (id, username, first_name, last_name, email, is_active, is_staff, is_superuser, is_service)
    ON tenants_user TO @operator@, @worker@;
CREATE POLICY user_signs_in ON tenants_user TO @login@ USING (true) WITH CHECK (true);
CREATE POLICY user_of_tenant ON tenants_user FOR SELECT TO @operator@, @worker@ USING (
    EXISTS (SELECT 1 FROM tenants_membership AS member WHERE member.user_id = tenants_user.id)
    OR is_service AND starts_with(username, 'agent:' || app_tenant() || ':')
);
CREATE POLICY service_user_of_tenant ON tenants_user FOR INSERT TO @operator@, @worker@ WITH CHECK (
    is_service AND starts_with(username, 'agent:' || app_tenant() || ':')
)
"""
# R016, by keys that cannot lie: a member is never a service user, an agent's user always is.
SERVICE_USERS = """
ALTER TABLE tenants_user ADD CONSTRAINT user_and_its_kind UNIQUE (id, is_service);
ALTER TABLE tenants_membership
    ADD COLUMN user_is_service boolean NOT NULL DEFAULT false,
    ADD CONSTRAINT member_is_no_service_user CHECK (NOT user_is_service),
    ADD CONSTRAINT member_is_a_person FOREIGN KEY (user_id, user_is_service) REFERENCES tenants_user (id, is_service);
ALTER TABLE tenants_agent
    ADD COLUMN user_is_service boolean NOT NULL DEFAULT true,
    ADD CONSTRAINT agent_acts_as_service_user CHECK (user_is_service),
    ADD CONSTRAINT agent_user_is_a_service_user FOREIGN KEY (service_user_id, user_is_service)
        REFERENCES tenants_user (id, is_service)
"""
# A command names its tenant by key: it sees the row of that key and no other.
NAMED_TENANT = """
CREATE POLICY tenant_by_name ON tenants_tenant FOR SELECT TO @worker@
    USING (key = nullif(current_setting('app.tenant_key', true), ''))
"""
STAMP = """
CREATE TRIGGER stamp_version BEFORE UPDATE OF name, expires_at, revoked_at ON tenants_agenttoken
    FOR EACH ROW EXECUTE FUNCTION stamp_version()
"""
# With due_work, the only ways across before a tenant is known. They give ids, a role and the agent's own key.
CROSSINGS = """
CREATE FUNCTION resolve_token(wanted text)
    RETURNS TABLE (tenant_id bigint, agent_id bigint, user_id bigint, agent_key text)
    LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = public, pg_temp AS $$
    UPDATE tenants_agenttoken SET last_used_at = now()
        WHERE digest = wanted AND (last_used_at IS NULL OR last_used_at < now() - interval '1 minute');
    SELECT token.tenant_id, agent.id, agent.service_user_id, agent.key
        FROM tenants_agenttoken AS token JOIN tenants_agent AS agent ON agent.id = token.agent_id
        WHERE token.digest = wanted AND token.revoked_at IS NULL
            AND (token.expires_at IS NULL OR token.expires_at > now())
$$;
CREATE FUNCTION memberships_of(wanted bigint) RETURNS TABLE (tenant_id bigint, role text)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
    SELECT member.tenant_id, member.role FROM tenants_membership AS member WHERE member.user_id = wanted ORDER BY member.id
$$;
REVOKE ALL ON FUNCTION resolve_token(text), memberships_of(bigint) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION resolve_token(text), memberships_of(bigint) TO @login@;
ALTER FUNCTION resolve_token(text) OWNER TO @crossing@;
ALTER FUNCTION memberships_of(bigint) OWNER TO @crossing@
"""


class Migration(migrations.Migration):
    """Row security, grants, triggers and composite keys."""

    dependencies: ClassVar = [
        ("tenants", "0001_tables"),
        ("governance", "0001_settings"),
        ("sessions", "0001_initial"),
        ("contenttypes", "0002_remove_content_type_name"),
        ("auth", "0012_alter_user_first_name_max_length"),
    ]
    operations: ClassVar = [
        RoleSQL(SHARED),
        RoleSQL(PEOPLE),
        RaiseWall(
            "tenants_tenant",
            Wall(operator="SELECT", worker="SELECT, INSERT", tenant="id = app_tenant()", versioned=False),
        ),
        RaiseWall("tenants_tenantsettings", Wall(operator="SELECT", worker="SELECT, INSERT")),
        RaiseWall(
            "tenants_membership",
            Wall(
                operator="SELECT, INSERT",
                worker="SELECT, INSERT",
                agent="",
                crossing="SELECT (id, tenant_id, user_id, role)",
            ),
        ),
        RaiseWall(
            "tenants_agent",
            Wall(
                operator="SELECT, INSERT, UPDATE (title, model, contract, learns, session_idle_seconds, max_steps)",
                worker="SELECT, INSERT",
                agent_rows="id = app_agent()",
                crossing="SELECT (id, tenant_id, key, service_user_id)",
            ),
        ),
        RaiseWall(
            "tenants_agenttoken",
            Wall(
                operator="SELECT, INSERT, UPDATE (expires_at, revoked_at)",
                worker="SELECT, INSERT, UPDATE (expires_at, revoked_at)",
                agent="",
                versioned=False,
                crossing="SELECT, UPDATE (last_used_at)",
            ),
        ),
        RoleSQL(SERVICE_USERS),
        RoleSQL(NAMED_TENANT),
        RoleSQL(STAMP),
        RaiseWall(
            "tenants_tenantgroupobjectpermission",
            Wall(operator="SELECT", tenant="content_object_id = app_tenant()", versioned=False),
        ),
        ComposeKey("tenants_agent"),
        ComposeForeignKey("tenants_agenttoken", "agent_id", "tenants_agent"),
        RoleSQL(CROSSINGS),
    ]
