"""A token is looked up with how often its tenant lets it ask, too: still one statement."""

from typing import ClassVar

from django.db import migrations

from apps.governance.database import RoleSQL

RIGHTS = """
GRANT SELECT (requests_per_minute, requests_per_minute_of_tenant) ON tenants_tenantsettings TO @crossing@
"""
RESOLVE = """
SET LOCAL ROLE @crossing@;
DROP FUNCTION resolve_token(text);
CREATE FUNCTION resolve_token(wanted text)
    RETURNS TABLE (tenant_id bigint, agent_id bigint, user_id bigint, agent_key text, granted text[], of_asker integer, of_tenant integer)
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = public, pg_temp AS $$
#variable_conflict use_column
BEGIN
    UPDATE tenants_agenttoken SET last_used_at = now()
        WHERE digest = wanted AND (last_used_at IS NULL OR last_used_at < now() - interval '1 minute');
    RETURN QUERY SELECT token.tenant_id, agent.id, agent.service_user_id, agent.key::text, coalesce(
        (SELECT array_remove(array_agg(permission.codename::text), NULL) FROM tenants_agentgrants AS own
            LEFT JOIN tenants_agentgroupobjectpermission AS held ON held.grants_id = own.id
            LEFT JOIN auth_permission AS permission ON permission.id = held.permission_id
            WHERE own.tenant_id = token.tenant_id AND own.agent_id = agent.id AND own.role = 'agent' GROUP BY own.id),
        (SELECT array_agg(permission.codename::text) FROM tenants_tenantgroupobjectpermission AS held
            JOIN auth_group AS role ON role.id = held.group_id AND role.name = 'agent'
            JOIN auth_permission AS permission ON permission.id = held.permission_id
            WHERE held.content_object_id = token.tenant_id),
        (SELECT array_agg(permission.codename::text) FROM tenants_roletemplategroupobjectpermission AS held
            JOIN tenants_roletemplate AS template ON template.id = held.content_object_id AND template.role = 'agent'
            JOIN auth_group AS role ON role.id = held.group_id AND role.name = 'agent'
            JOIN auth_permission AS permission ON permission.id = held.permission_id),
        '{}'), settings.requests_per_minute, settings.requests_per_minute_of_tenant
        FROM tenants_agenttoken AS token JOIN tenants_agent AS agent ON agent.id = token.agent_id
            LEFT JOIN tenants_tenantsettings AS settings ON settings.tenant_id = token.tenant_id
        WHERE token.digest = wanted AND token.revoked_at IS NULL
            AND (token.expires_at IS NULL OR token.expires_at > now());
END $$;
REVOKE ALL ON FUNCTION resolve_token(text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION resolve_token(text) TO @login@;
RESET ROLE
"""


class Migration(migrations.Migration):
    """A right of the crossing, and the function."""

    dependencies: ClassVar = [("tenants", "0049_pace")]
    operations: ClassVar = [RoleSQL(RIGHTS), RoleSQL(RESOLVE)]
