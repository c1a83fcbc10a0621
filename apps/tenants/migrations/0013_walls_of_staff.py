"""The database role of platform staff: it reads what operators read, and writes what its few acts need."""

from typing import ClassVar

from django.db import migrations

from apps.governance.database import ComposeKey, RaiseWall, RoleSQL, Wall

# Walls raised from here on give it by themselves; those that stand already, here.
READS = """
DO $$ DECLARE seen regclass; BEGIN
    FOR seen IN
        SELECT oid::regclass FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace
            AND has_table_privilege('@operator@'::regrole, oid, 'SELECT')
    LOOP
        EXECUTE format('GRANT SELECT ON %s TO @staff@', seen);
    END LOOP;
END $$;
GRANT SELECT (id, username, first_name, last_name, email, is_active, is_staff, is_superuser, is_service)
    ON tenants_user TO @staff@
"""
# Each of its acts leaves a record, and each refused attempt.
BOOKS = "GRANT INSERT ON governance_changerecord, governance_changetext, governance_refusal TO @staff@"
# A tenant sees its own members and whoever looked in.
SEEN = """
ALTER POLICY user_of_tenant ON tenants_user TO @operator@, @worker@, @staff@ USING (
    EXISTS (SELECT 1 FROM tenants_membership AS member WHERE member.user_id = tenants_user.id)
    OR EXISTS (SELECT 1 FROM tenants_staffvisit AS visit WHERE visit.user_id = tenants_user.id)
    OR is_service AND starts_with(username, 'agent:' || app_tenant() || ':')
)
"""


class Migration(migrations.Migration):
    """Row security, rights and the people a tenant sees."""

    dependencies: ClassVar = [
        ("tenants", "0012_visits_of_staff"),
        ("governance", "0008_review_walls"),
    ]
    operations: ClassVar = [
        RaiseWall(
            "tenants_staffvisit",
            Wall(
                operator="SELECT",
                worker="SELECT",
                agent="",
                staff="SELECT, INSERT, UPDATE (left_at)",
            ),
        ),
        ComposeKey("tenants_staffvisit"),
        RoleSQL(READS),
        RoleSQL(BOOKS),
        RoleSQL(SEEN),
    ]
