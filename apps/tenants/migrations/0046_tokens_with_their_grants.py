"""A token is looked up with what its agent may do: one statement before a tenant is known, where there were three."""

from typing import ClassVar

from django.db import migrations

from apps.governance.database import RoleSQL

# The crossing reads who holds which permission, of agents alone and by columns; the look-up gives names of the policy's acts.
RIGHTS = """
GRANT SELECT ON auth_permission, auth_group, tenants_roletemplate, tenants_roletemplategroupobjectpermission TO @crossing@;
GRANT SELECT (content_object_id, group_id, permission_id) ON tenants_tenantgroupobjectpermission TO @crossing@;
GRANT SELECT (id, tenant_id, agent_id, role) ON tenants_agentgrants TO @crossing@;
GRANT SELECT (grants_id, permission_id) ON tenants_agentgroupobjectpermission TO @crossing@;
CREATE POLICY tenants_tenantgroupobjectpermission_crossing ON tenants_tenantgroupobjectpermission
    FOR SELECT TO @crossing@ USING (true);
CREATE POLICY tenants_agentgrants_crossing ON tenants_agentgrants FOR SELECT TO @crossing@ USING (true);
CREATE POLICY tenants_agentgroupobjectpermission_crossing ON tenants_agentgroupobjectpermission
    FOR SELECT TO @crossing@ USING (true)
"""
# What is said of the agent replaces what is said of the tenant, and that the template, as in `identity.SAID`; said of an agent,
# nothing is an answer too. PL/pgSQL keeps the plans of a connection, which cost more than the look-up.
RESOLVE = """
SET LOCAL ROLE @crossing@;
DROP FUNCTION resolve_token(text);
CREATE FUNCTION resolve_token(wanted text)
    RETURNS TABLE (tenant_id bigint, agent_id bigint, user_id bigint, agent_key text, granted text[])
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
        '{}')
        FROM tenants_agenttoken AS token JOIN tenants_agent AS agent ON agent.id = token.agent_id
        WHERE token.digest = wanted AND token.revoked_at IS NULL
            AND (token.expires_at IS NULL OR token.expires_at > now());
END $$;
REVOKE ALL ON FUNCTION resolve_token(text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION resolve_token(text) TO @login@;
RESET ROLE
"""


class Migration(migrations.Migration):
    """Rights of the crossing, and the function."""

    dependencies: ClassVar = [("tenants", "0045_walls_of_account_events")]
    operations: ClassVar = [RoleSQL(RIGHTS), RoleSQL(RESOLVE)]
