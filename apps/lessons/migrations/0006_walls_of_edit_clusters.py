"""The walls around clusters of edits: workers find them, people decide on them, agents never see one."""

from typing import ClassVar

from django.db import migrations

from apps.governance.database import ComposeForeignKey, ComposeKey, RaiseWall, RoleSQL, Wall

CLUSTERS = Wall(
    operator="SELECT, UPDATE (status, reason, dismissed_count, proposal_id, decided_by, decided_at)",
    worker="SELECT, INSERT, UPDATE (status)",
    agent="",
    states={"open": ("proposed", "dismissed"), "proposed": ("open",), "dismissed": ("open",)},
)
MEMBERS = Wall(operator="SELECT", worker="SELECT, INSERT", agent="", versioned=False, append_only=True)
# Who decides is a person: a worker only brings back what was dismissed.
HELD = """
CREATE TRIGGER append_only BEFORE UPDATE OF tenant_id, agent_id, key, key_sha256, habit, removed, added, taint
    ON lessons_editcluster FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER freeze_learning BEFORE INSERT OR UPDATE OF status ON lessons_editcluster
    FOR EACH ROW EXECUTE FUNCTION refuse_frozen_learning();
CREATE FUNCTION hold_edit_cluster() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.status <> OLD.status AND NOT pg_has_role(current_user, '@operator@'::regrole, 'USAGE')
        AND (OLD.status <> 'dismissed' OR NEW.status <> 'open') THEN
        RAISE EXCEPTION 'A person decides on what people change again and again.' USING ERRCODE = 'insufficient_privilege';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER hold_edit_cluster BEFORE UPDATE OF status ON lessons_editcluster
    FOR EACH ROW EXECUTE FUNCTION hold_edit_cluster()
"""


class Migration(migrations.Migration):
    """Row security, grants, triggers and composite keys."""

    dependencies: ClassVar = [
        ("lessons", "0005_edit_clusters"),
        ("switches", "0002_walls"),
    ]
    operations: ClassVar = [
        RaiseWall("lessons_editcluster", CLUSTERS),
        RaiseWall("lessons_editmember", MEMBERS),
        RoleSQL(HELD),
        ComposeKey("lessons_editcluster"),
        ComposeKey("lessons_lessoncase"),
        ComposeForeignKey("lessons_editcluster", "agent_id", "tenants_agent"),
        ComposeForeignKey("lessons_editmember", "cluster_id", "lessons_editcluster"),
        ComposeForeignKey("lessons_editmember", "case_id", "lessons_lessoncase"),
    ]
