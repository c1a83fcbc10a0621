-- Reads the grants of a member's role in a tenant, the limits of this member, and how often the tenant lets anybody ask.
--
-- Called by: _read_grants (apps/tenants/authentication/actor_resolution.py)
-- Runs as: operator, staff
-- One statement: it is part of each request, so the grants of all places are read at once.
-- Locks: nothing
-- Parameters:
--   :role         text    the role
--   :tenant       bigint  the tenant
--   :user         bigint  the member's user, null for none
--   :at_template  text    name of an origin: the template of the role
--   :at_tenant    text    name of an origin: the tenant
--   :at_agent     text    name of an origin: the agent
--   :at_limit     text    name of an origin: a limit of the member
--   :at_pace      text    name of an origin: the rate limits of the tenant
-- Returns: a row for each place where grants are given, for each limit, and for the rate limits:
--   origin    text    the place
--   agent_id  bigint  the agent, null where it is for all
--   names     text[]  codenames of permissions; of a limit the one act; of rate limits the two numbers, or nulls

-- include: apps/tenants/authentication/queries/fragments/role_grants.sql
UNION ALL
SELECT :at_limit, granted.content_object_id, ARRAY[narrowed.limited_act::text]
FROM tenants_memberlimit AS narrowed
JOIN tenants_membership AS member ON member.id = narrowed.member_id AND member.user_id = :user
LEFT JOIN tenants_agentuserobjectpermission AS granted ON granted.limit_id = narrowed.id
WHERE narrowed.tenant_id = :tenant
UNION ALL
SELECT :at_pace, NULL, ARRAY[requests_per_minute::text, requests_per_minute_of_tenant::text]
FROM tenants_tenantsettings
WHERE tenant_id = :tenant
