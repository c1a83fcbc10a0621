-- Functions of tenants: what triggers, policies, indexes and the product's own statements call.

-- Trigger: clears the proof of the email address when the user name or the address changes, because it proved the old one.
CREATE OR REPLACE FUNCTION clear_email_verification() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.email_verified_at := NULL;
    RETURN NEW;
END $$;

-- Trigger: refuses to deactivate or demote the last active admin of a tenant; invited admins count once they accepted. The
-- lock closes the race of two admins who remove each other: the second one sees the first one's change.
CREATE OR REPLACE FUNCTION refuse_removal_of_last_admin() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_advisory_xact_lock(hashtext('tenants_membership'), OLD.tenant_id::int);
    IF NOT EXISTS (
        SELECT 1 FROM tenants_membership AS other JOIN tenants_user AS person ON person.id = other.user_id
            WHERE other.tenant_id = OLD.tenant_id AND other.id <> OLD.id AND other.is_active AND other.role = 'admin'
                AND (person.email_verified_at IS NOT NULL
                    OR other.accepted_at >= coalesce(person.account_claimed_at, '-infinity'))
    ) THEN
        RAISE EXCEPTION 'The tenant would be left without an active admin. Make somebody else admin first.'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'tenant_has_an_active_admin';
    END IF;
    RETURN NEW;
END $$;

-- Trigger: refuses to turn a person into an agent's service user, or the reverse.
CREATE OR REPLACE FUNCTION refuse_change_of_is_service() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'A person does not become a service user, nor a service user a person.'
        USING ERRCODE = 'check_violation', CONSTRAINT = 'user_kind_is_fixed';
END $$;

-- Trigger: refuses group memberships that mix roles. A service user belongs to the group agent and no other; a person
-- belongs to one role group at most, and never to agent; nobody belongs to system.
CREATE OR REPLACE FUNCTION refuse_mixed_roles() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    service boolean := (SELECT is_service FROM tenants_user WHERE id = NEW.user_id);
    named text := (SELECT name FROM auth_group WHERE id = NEW.group_id);
    roles text[] := (SELECT array_agg(role) FROM tenants_roletemplate);
BEGIN
    IF service <> (named = 'agent') OR named = 'system' OR named = ANY (roles) AND EXISTS (
        SELECT 1 FROM tenants_user_groups AS user_group JOIN auth_group ON auth_group.id = user_group.group_id
            WHERE user_group.user_id = NEW.user_id AND user_group.id <> NEW.id AND auth_group.name = ANY (roles)
    ) THEN
        RAISE EXCEPTION 'User % may not be put into the group %: roles do not mix.', NEW.user_id, named
            USING ERRCODE = 'check_violation', CONSTRAINT = 'roles_do_not_mix';
    END IF;
    RETURN NEW;
END $$;

-- Trigger: refuses a new membership that is already accepted; the person accepts it later.
CREATE OR REPLACE FUNCTION refuse_accepted_new_membership() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'A member is invited first and accepts the invitation in person.'
        USING ERRCODE = 'check_violation', CONSTRAINT = 'member_starts_unaccepted';
END $$;

-- The tenants of a person with the role in each: active memberships that the person accepted after the account last changed
-- hands, or with a proven address. The login role calls it before a tenant is known, so it is SECURITY DEFINER and owned by
-- the cross-tenant role.
CREATE OR REPLACE FUNCTION list_memberships(for_user_id bigint) RETURNS TABLE(tenant_id bigint, role text)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
    SELECT member.tenant_id, member.role FROM tenants_membership AS member
        JOIN tenants_user AS person ON person.id = member.user_id
        WHERE member.user_id = for_user_id AND member.is_active
            AND (person.email_verified_at IS NOT NULL
                OR member.accepted_at >= coalesce(person.account_claimed_at, '-infinity'))
        ORDER BY member.id
$$;
REVOKE ALL ON FUNCTION list_memberships(bigint) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION list_memberships(bigint) TO @login@;
ALTER FUNCTION list_memberships(bigint) OWNER TO @cross_tenant@;

-- The agent behind the digest of a token, with its grants and its tenant's request limits; no row if the token is unknown,
-- revoked or expired. It also stamps the last use, at most once a minute. The login role calls it before a tenant is known,
-- so it is SECURITY DEFINER and owned by the cross-tenant role. Grants on the agent replace those of the tenant, and these
-- replace the role template. PL/pgSQL keeps the plan for the connection; planning costs more than the query.
CREATE OR REPLACE FUNCTION resolve_agent_token(token_digest text)
    RETURNS TABLE(tenant_id bigint, agent_id bigint, user_id bigint, agent_key text, permissions text[], requests_per_minute integer, requests_per_minute_of_tenant integer)
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
#variable_conflict use_column
BEGIN
    UPDATE tenants_agenttoken SET last_used_at = now()
        WHERE digest = token_digest AND (last_used_at IS NULL OR last_used_at < now() - interval '1 minute');
    RETURN QUERY SELECT token.tenant_id, agent.id, agent.service_user_id, agent.key::text, coalesce(
        (SELECT array_remove(array_agg(permission.codename::text), NULL) FROM tenants_agentgrants AS own
            LEFT JOIN tenants_agentgroupobjectpermission AS granted ON granted.grants_id = own.id
            LEFT JOIN auth_permission AS permission ON permission.id = granted.permission_id
            WHERE own.tenant_id = token.tenant_id AND own.agent_id = agent.id AND own.role = 'agent' GROUP BY own.id),
        (SELECT array_agg(permission.codename::text) FROM tenants_tenantgroupobjectpermission AS granted
            JOIN auth_group AS role ON role.id = granted.group_id AND role.name = 'agent'
            JOIN auth_permission AS permission ON permission.id = granted.permission_id
            WHERE granted.content_object_id = token.tenant_id),
        (SELECT array_agg(permission.codename::text) FROM tenants_roletemplategroupobjectpermission AS granted
            JOIN tenants_roletemplate AS template ON template.id = granted.content_object_id AND template.role = 'agent'
            JOIN auth_group AS role ON role.id = granted.group_id AND role.name = 'agent'
            JOIN auth_permission AS permission ON permission.id = granted.permission_id),
        '{}'), settings.requests_per_minute, settings.requests_per_minute_of_tenant
        FROM tenants_agenttoken AS token JOIN tenants_agent AS agent ON agent.id = token.agent_id
            LEFT JOIN tenants_tenantsettings AS settings ON settings.tenant_id = token.tenant_id
        WHERE token.digest = token_digest AND token.revoked_at IS NULL
            AND (token.expires_at IS NULL OR token.expires_at > now());
END $$;
REVOKE ALL ON FUNCTION resolve_agent_token(text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION resolve_agent_token(text) TO @login@;
ALTER FUNCTION resolve_agent_token(text) OWNER TO @cross_tenant@;

-- Users with a combination of roles that must never exist. `manage.py check --database default` and starting processes
-- report them. SECURITY DEFINER and owned by the cross-tenant role, because it reads the users and members of all tenants.
CREATE OR REPLACE FUNCTION list_role_violations() RETURNS TABLE(user_id bigint, username text, violation text)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
    WITH role_group AS (
        SELECT membership.user_id, auth_group.name FROM tenants_user_groups AS membership
            JOIN auth_group ON auth_group.id = membership.group_id
            WHERE auth_group.name IN ('operator', 'admin', 'agent', 'system', 'staff')
    )
    SELECT id, username, 'powerful-service-user' FROM tenants_user WHERE is_service AND (is_staff OR is_superuser)
    UNION ALL
    SELECT person.id, person.username, 'token-of-a-person' FROM tenants_agent AS agent
        JOIN tenants_user AS person ON person.id = agent.service_user_id WHERE NOT person.is_service
    UNION ALL
    SELECT service.id, service.username, 'service-user-as-member' FROM tenants_membership AS member
        JOIN tenants_user AS service ON service.id = member.user_id WHERE service.is_service
    UNION ALL
    SELECT id, tenants_user.username, 'mixed-groups' FROM tenants_user JOIN role_group ON role_group.user_id = id
        GROUP BY id, tenants_user.username, is_service
        HAVING count(*) > 1 OR bool_or(is_service <> (role_group.name = 'agent')) OR bool_or(role_group.name = 'system')
$$;
REVOKE ALL ON FUNCTION list_role_violations() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION list_role_violations() TO @login@;
ALTER FUNCTION list_role_violations() OWNER TO @cross_tenant@;

-- Today's date in the tenant's time zone, or in UTC if PostgreSQL does not know that zone. Spending is counted by this day.
CREATE OR REPLACE FUNCTION get_tenant_today(for_tenant_id bigint) RETURNS date
    LANGUAGE plpgsql STABLE SET search_path = public, pg_temp AS $$
DECLARE zone text;
BEGIN
    SELECT settings.timezone INTO zone FROM tenants_tenantsettings AS settings WHERE settings.tenant_id = for_tenant_id;
    RETURN (statement_timestamp() AT TIME ZONE zone)::date;
EXCEPTION WHEN invalid_parameter_value THEN
    RETURN (statement_timestamp() AT TIME ZONE 'UTC')::date;
END $$;
REVOKE ALL ON FUNCTION get_tenant_today(bigint) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION get_tenant_today(bigint) TO @cross_tenant@, @operator@, @worker@;
