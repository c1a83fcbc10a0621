"""What people may change of each other, an admin that always stays, and roles that never mix."""

from typing import ClassVar

from django.db import migrations

from apps.governance.database import RoleSQL

RIGHTS = """
GRANT UPDATE (is_active, role, reset_at) ON tenants_membership TO @operator@, @worker@;
GRANT SELECT (is_active) ON tenants_membership TO @crossing@;
GRANT SELECT (id, username, is_service, is_staff, is_superuser) ON tenants_user TO @crossing@;
GRANT SELECT ON tenants_user_groups, auth_group TO @crossing@;
CREATE POLICY user_crossing ON tenants_user FOR SELECT TO @crossing@ USING (true)
"""
# A lock per tenant: of two admins who dismiss each other at once, the second sees what the first did.
LAST_ADMIN = """
CREATE FUNCTION keep_an_admin() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_advisory_xact_lock(hashtext('tenants_membership'), OLD.tenant_id::int);
    IF NOT EXISTS (
        SELECT 1 FROM tenants_membership AS other
            WHERE other.tenant_id = OLD.tenant_id AND other.id <> OLD.id AND other.is_active AND other.role = 'admin'
    ) THEN
        RAISE EXCEPTION 'The tenant would be left without an active admin. Make somebody else admin first.'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'tenant_keeps_an_active_admin';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER keep_an_admin BEFORE UPDATE OF is_active, role ON tenants_membership FOR EACH ROW
    WHEN (OLD.is_active AND OLD.role = 'admin' AND NOT (NEW.is_active AND NEW.role = 'admin'))
    EXECUTE FUNCTION keep_an_admin()
"""
# R016: an agent's user holds the role agent and no other, a person never does, and nobody holds two.
ROLES_APART = """
CREATE FUNCTION keep_roles_apart() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    service boolean := (SELECT is_service FROM tenants_user WHERE id = NEW.user_id);
    named text := (SELECT name FROM auth_group WHERE id = NEW.group_id);
    roles text[] := (SELECT array_agg(role) FROM tenants_roletemplate);
BEGIN
    IF service <> (named = 'agent') OR named = 'system' OR named = ANY (roles) AND EXISTS (
        SELECT 1 FROM tenants_user_groups AS held JOIN auth_group ON auth_group.id = held.group_id
            WHERE held.user_id = NEW.user_id AND held.id <> NEW.id AND auth_group.name = ANY (roles)
    ) THEN
        RAISE EXCEPTION 'User % may not be put into the group %: roles do not mix.', NEW.user_id, named
            USING ERRCODE = 'check_violation', CONSTRAINT = 'roles_do_not_mix';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER keep_roles_apart BEFORE INSERT OR UPDATE ON tenants_user_groups
    FOR EACH ROW EXECUTE FUNCTION keep_roles_apart();
CREATE FUNCTION keep_kind_of_user() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'A person never becomes a service user, nor the other way round.'
        USING ERRCODE = 'check_violation', CONSTRAINT = 'user_keeps_its_kind';
END $$;
CREATE TRIGGER keep_kind_of_user BEFORE UPDATE OF is_service ON tenants_user FOR EACH ROW
    WHEN (OLD.is_service <> NEW.is_service) EXECUTE FUNCTION keep_kind_of_user()
"""
# A deactivated member is nobody. The function keeps its owner, who alone may replace it.
ACTIVE_MEMBERS = """
SET LOCAL ROLE @crossing@;
CREATE OR REPLACE FUNCTION memberships_of(wanted bigint) RETURNS TABLE (tenant_id bigint, role text)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
    SELECT member.tenant_id, member.role FROM tenants_membership AS member
        WHERE member.user_id = wanted AND member.is_active ORDER BY member.id
$$;
CREATE FUNCTION role_breaches() RETURNS TABLE (user_id bigint, username text, breach text)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
    WITH held AS (
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
    SELECT id, tenants_user.username, 'mixed-groups' FROM tenants_user JOIN held ON held.user_id = id
        GROUP BY id, tenants_user.username, is_service
        HAVING count(*) > 1 OR bool_or(is_service <> (held.name = 'agent')) OR bool_or(held.name = 'system')
$$;
REVOKE ALL ON FUNCTION role_breaches() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION role_breaches() TO @login@;
SET LOCAL ROLE @owner@
"""


class Migration(migrations.Migration):
    """Column rights, triggers and the two crossings."""

    dependencies: ClassVar = [
        ("tenants", "0008_people"),
    ]
    operations: ClassVar = [RoleSQL(RIGHTS), RoleSQL(LAST_ADMIN), RoleSQL(ROLES_APART), RoleSQL(ACTIVE_MEMBERS)]
