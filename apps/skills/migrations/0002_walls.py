"""The wall around skills: an agent writes drafts of its own, and only people move states."""

from typing import ClassVar

from django.db import migrations

from apps.governance.database import ComposeForeignKey, ComposeKey, RaiseWall, Wall

SKILLS = Wall(
    operator="SELECT, INSERT, UPDATE, DELETE",
    worker="SELECT, INSERT",
    agent="SELECT, INSERT, DELETE, UPDATE (name, title, description, category, body)",
    agent_rows="agent_id = app_agent()",
    agent_updates="status = 'draft' AND starts_with(drafted_by, 'agent:')",
    agent_checks="taint <> 'operator'",
    agent_deletes="status = 'draft' AND starts_with(drafted_by, 'agent:')",
    states={"draft": ("approved", "deprecated"), "approved": ("deprecated",)},
    extra=(
        """CREATE POLICY skills_skill_operator_delete ON skills_skill AS RESTRICTIVE FOR DELETE TO @operator@
    USING (status = 'draft')""",
        """CREATE FUNCTION stamp_skill_content() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.content_sha256 := encode(sha256(convert_to(concat(
        octet_length(NEW.name), ':', NEW.name, octet_length(NEW.title), ':', NEW.title,
        octet_length(NEW.description), ':', NEW.description, octet_length(NEW.body), ':', NEW.body), 'UTF8')), 'hex');
    IF TG_OP = 'INSERT' AND (NEW.approved_by <> '' OR NEW.approved_sha256 <> '') THEN
        RAISE EXCEPTION 'A skill is born unapproved.' USING ERRCODE = 'check_violation';
    END IF;
    RETURN NEW;
END $$""",
        """CREATE TRIGGER stamp_content BEFORE INSERT OR UPDATE ON skills_skill
    FOR EACH ROW EXECUTE FUNCTION stamp_skill_content()""",
    ),
)
USES = Wall(
    operator="SELECT",
    worker="SELECT",
    agent="SELECT, INSERT, UPDATE (use_count, last_used_at)",
    agent_rows="EXISTS (SELECT 1 FROM skills_skill AS skill WHERE skill.id = skill_id)",
    versioned=False,
)


class Migration(migrations.Migration):
    """Row security, grants, triggers and composite keys."""

    dependencies: ClassVar = [
        ("skills", "0001_tables"),
        ("governance", "0003_walls"),
    ]
    operations: ClassVar = [
        RaiseWall("skills_skill", SKILLS),
        RaiseWall("skills_skilluse", USES),
        ComposeKey("skills_skill"),
        ComposeForeignKey("skills_skill", "agent_id", "tenants_agent"),
        ComposeForeignKey("skills_skilluse", "skill_id", "skills_skill"),
    ]
