-- The grants of a role, a row for each place where they are given. Each place replaces the one before it: template, tenant, agent.
-- Agents' grants are joined from the rows that they belong to, since a row without grants replaces the template all the same.
-- Included as a SELECT of three columns: origin, agent_id, names.
--
-- Parameters:
--   :role         text    the role
--   :tenant       bigint  the tenant
--   :at_template  text    name of an origin: the template of the role
--   :at_tenant    text    name of an origin: the tenant
--   :at_agent     text    name of an origin: the agent
SELECT :at_template, NULL::bigint, array_agg(permission.codename::text)
FROM tenants_roletemplategroupobjectpermission AS granted
JOIN tenants_roletemplate AS template ON template.id = granted.content_object_id AND template.role = :role
JOIN auth_group ON auth_group.id = granted.group_id AND auth_group.name = :role
JOIN auth_permission AS permission ON permission.id = granted.permission_id
HAVING count(*) > 0
UNION ALL
SELECT :at_tenant, NULL, array_agg(permission.codename::text)
FROM tenants_tenantgroupobjectpermission AS granted
JOIN auth_group ON auth_group.id = granted.group_id AND auth_group.name = :role
JOIN auth_permission AS permission ON permission.id = granted.permission_id
WHERE granted.content_object_id = :tenant
HAVING count(*) > 0
UNION ALL
SELECT :at_agent, grants.agent_id, array_remove(array_agg(permission.codename::text), NULL)
FROM tenants_agentgrants AS grants
LEFT JOIN tenants_agentgroupobjectpermission AS granted ON granted.grants_id = grants.id
LEFT JOIN auth_permission AS permission ON permission.id = granted.permission_id
WHERE grants.tenant_id = :tenant AND grants.role = :role
GROUP BY grants.agent_id
