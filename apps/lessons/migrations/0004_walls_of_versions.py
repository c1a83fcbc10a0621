"""The walls around learning versions: never reworded, active by a person's name or by the tenant's settings, unseen by agents."""

from typing import ClassVar

from django.db import migrations

from apps.governance.database import ComposeForeignKey, ComposeKey, RaiseWall, RoleSQL, Wall

VERSIONS = Wall(
    operator="SELECT, UPDATE (status, approved_by, approved_at)",
    worker="SELECT, INSERT, DELETE, UPDATE (status)",
    agent="",
    states={"pending": ("active", "rejected"), "active": ("retired",), "retired": ("active",)},
)
HELD = """
CREATE TRIGGER append_only BEFORE UPDATE OF tenant_id, agent_id, number, previous_version_id, body, change_summary, lesson_ids, taint
    ON lessons_learningversion FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER freeze_learning BEFORE INSERT ON lessons_learningversion FOR EACH ROW EXECUTE FUNCTION refuse_frozen_learning();
CREATE FUNCTION hold_learning_version() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN
        IF OLD.status IN ('active', 'pending') THEN
            RAISE EXCEPTION 'A version that is read, or waits for a person, stays.' USING ERRCODE = 'check_violation';
        END IF;
        RETURN OLD;
    END IF;
    IF TG_OP = 'INSERT' AND NEW.approved_by <> '' THEN
        RAISE EXCEPTION 'Nobody has approved a version before it is there.' USING ERRCODE = 'check_violation';
    END IF;
    IF NEW.status <> 'active' OR TG_OP = 'INSERT' OR OLD.status = 'active' THEN
        RETURN NEW;
    END IF;
    IF pg_has_role(current_user, '@operator@'::regrole, 'USAGE') THEN
        IF NEW.approved_by = '' THEN
            RAISE EXCEPTION 'Whoever activates a version signs it.' USING ERRCODE = 'insufficient_privilege';
        END IF;
    ELSIF OLD.status <> 'pending' OR NOT EXISTS (
        SELECT FROM tenants_tenantsettings WHERE tenant_id = NEW.tenant_id AND learning_apply_mode = 'auto') THEN
        RAISE EXCEPTION 'Here a person says yes to what agents learn.' USING ERRCODE = 'insufficient_privilege';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER hold_learning_version BEFORE INSERT OR UPDATE OR DELETE ON lessons_learningversion
    FOR EACH ROW EXECUTE FUNCTION hold_learning_version();
GRANT UPDATE (digested_in_id) ON lessons_lesson TO @worker@
"""


class Migration(migrations.Migration):
    """Row security, grants, triggers and composite keys."""

    dependencies: ClassVar = [
        ("lessons", "0003_versions"),
        ("switches", "0002_walls"),
        ("tenants", "0031_learning_apply_mode"),
    ]
    operations: ClassVar = [
        RaiseWall("lessons_learningversion", VERSIONS),
        RoleSQL(HELD),
        ComposeKey("lessons_learningversion"),
        ComposeForeignKey("lessons_learningversion", "agent_id", "tenants_agent"),
    ]
