"""A membership is born unaccepted, opens nothing until it is accepted, and an address that changes is nobody's proven one."""

from typing import ClassVar

from django.db import migrations

from apps.governance.database import RoleSQL

RIGHTS = """
GRANT UPDATE (accepted_at) ON tenants_membership TO @operator@;
GRANT SELECT (accepted_at) ON tenants_membership TO @crossing@;
GRANT SELECT (address_proven_at, held_since) ON tenants_user TO @operator@, @worker@, @staff@, @crossing@
"""
# The person comes after the tenant's word for them, never with it.
BORN_UNACCEPTED = """
CREATE FUNCTION keep_unaccepted() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'A member is let in first and accepts by themselves.'
        USING ERRCODE = 'check_violation', CONSTRAINT = 'member_is_born_unaccepted';
END $$;
CREATE TRIGGER keep_unaccepted BEFORE INSERT ON tenants_membership FOR EACH ROW
    WHEN (NEW.accepted_at IS NOT NULL) EXECUTE FUNCTION keep_unaccepted()
"""
UNPROVEN = """
CREATE FUNCTION forget_address() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.address_proven_at := NULL;
    RETURN NEW;
END $$;
CREATE TRIGGER forget_address BEFORE UPDATE OF username, email ON tenants_user FOR EACH ROW
    WHEN (OLD.username <> NEW.username OR OLD.email <> NEW.email) EXECUTE FUNCTION forget_address()
"""
# Who was invited and has not come in decides nothing, so they are no admin that stays.
LAST_ADMIN = """
CREATE OR REPLACE FUNCTION keep_an_admin() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_advisory_xact_lock(hashtext('tenants_membership'), OLD.tenant_id::int);
    IF NOT EXISTS (
        SELECT 1 FROM tenants_membership AS other JOIN tenants_user AS person ON person.id = other.user_id
            WHERE other.tenant_id = OLD.tenant_id AND other.id <> OLD.id AND other.is_active AND other.role = 'admin'
                AND (person.address_proven_at IS NOT NULL
                    OR other.accepted_at >= coalesce(person.held_since, '-infinity'))
    ) THEN
        RAISE EXCEPTION 'The tenant would be left without an active admin. Make somebody else admin first.'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'tenant_keeps_an_active_admin';
    END IF;
    RETURN NEW;
END $$
"""
ACCEPTED_MEMBERS = """
SET LOCAL ROLE @crossing@;
CREATE OR REPLACE FUNCTION memberships_of(wanted bigint) RETURNS TABLE (tenant_id bigint, role text)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
    SELECT member.tenant_id, member.role FROM tenants_membership AS member
        JOIN tenants_user AS person ON person.id = member.user_id
        WHERE member.user_id = wanted AND member.is_active
            AND (person.address_proven_at IS NOT NULL
                OR member.accepted_at >= coalesce(person.held_since, '-infinity'))
        ORDER BY member.id
$$;
SET LOCAL ROLE @owner@
"""


class Migration(migrations.Migration):
    """Column rights, two triggers, and what counts as a member."""

    dependencies: ClassVar = [
        ("tenants", "0014_addresses"),
    ]
    operations: ClassVar = [
        RoleSQL(RIGHTS),
        RoleSQL(BORN_UNACCEPTED),
        RoleSQL(UNPROVEN),
        RoleSQL(LAST_ADMIN),
        RoleSQL(ACCEPTED_MEMBERS),
    ]
