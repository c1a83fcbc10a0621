"""The walls around contradictions and looks: workers find, people decide, agents see none; and which agents a night's look awaits."""

from typing import ClassVar

from django.db import migrations

from apps.governance.database import ComposeForeignKey, ComposeKey, DueWork, RaiseWall, RoleSQL, UniqueInTenant, Wall

CONTRADICTIONS = Wall(
    operator="SELECT, UPDATE (status, dismissal, decided_by, decided_at)",
    worker="SELECT, INSERT, UPDATE (status, last_seen_at)",
    agent="",
    states={"open": ("dismissed", "gone"), "dismissed": ("open", "gone"), "gone": ("open", "dismissed")},
)
LOOKS = Wall(
    operator="SELECT",
    worker="SELECT, INSERT, UPDATE (lease_until, night, looked_at, texts, pairs, is_whole)",
    agent="",
    crossing="SELECT (tenant_id, agent_id, lease_until, night)",
    versioned=False,
)
# Only people decide; a worker that finds the same lines again leaves it as a person decided of them.
DECIDED = """
CREATE FUNCTION hold_contradiction() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF pg_has_role(current_user, '@operator@'::regrole, 'USAGE') OR NEW.status = OLD.status OR NEW.status = 'gone'
        OR (OLD.status = 'gone' AND (NEW.status = 'dismissed') = (OLD.decided_by <> '')) THEN
        RETURN NEW;
    END IF;
    RAISE EXCEPTION 'Only people dismiss a contradiction, or open it again.' USING ERRCODE = 'insufficient_privilege';
END $$;
CREATE TRIGGER hold_contradiction BEFORE UPDATE ON contradictions_contradiction
    FOR EACH ROW EXECUTE FUNCTION hold_contradiction()
"""
# From three in the morning on by the tenant's clock, as `rules.night_of` says it; what was missed is made up for.
OF_LOOKS = """
    SELECT agent.tenant_id, agent.id, (tonight.day + time '03:00') AT TIME ZONE tonight.zone FROM (
        SELECT settings.tenant_id, settings.timezone AS zone,
               (statement_timestamp() AT TIME ZONE settings.timezone - interval '3 hours')::date AS day
            FROM tenants_tenantsettings AS settings
    ) AS tonight JOIN tenants_agent AS agent ON agent.tenant_id = tonight.tenant_id
        WHERE NOT EXISTS (
            SELECT 1 FROM contradictions_contradictionlook AS held WHERE held.tenant_id = agent.tenant_id
                AND held.agent_id = agent.id AND (held.night >= tonight.day OR held.lease_until > statement_timestamp()))
"""


class Migration(migrations.Migration):
    """Row security, grants, triggers, composite keys and one function."""

    dependencies: ClassVar = [
        ("contradictions", "0001_tables"),
        ("learning", "0025_masked"),
    ]
    operations: ClassVar = [
        RaiseWall("contradictions_contradiction", CONTRADICTIONS),
        RaiseWall("contradictions_contradictionlook", LOOKS),
        RoleSQL(DECIDED),
        ComposeKey("contradictions_contradiction"),
        ComposeForeignKey("contradictions_contradiction", "agent_id", "tenants_agent"),
        ComposeForeignKey("contradictions_contradictionlook", "agent_id", "tenants_agent"),
        UniqueInTenant("contradictions_contradictionlook", "agent_id"),
        DueWork("contradiction", OF_LOOKS),
    ]
