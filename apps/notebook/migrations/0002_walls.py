"""The wall around notes: an agent keeps its own, and while it answers a customer those of that customer (R006, R007)."""

from typing import ClassVar

from django.db import migrations

from apps.governance.database import ComposeForeignKey, ComposeKey, RaiseWall, RoleSQL, Wall

# Whom the agent answers just now; a turn that a schedule began answers nobody, whose key is empty and counts as proven.
ITS_OWN = "app_customer() IS NULL OR (end_user_key = app_customer() AND app_customer_is_proven())"
NOTES = Wall(
    operator="SELECT, INSERT, UPDATE (text, due_at, status, author, taint)",
    worker="SELECT, UPDATE (status)",
    agent="SELECT, INSERT, UPDATE (text, due_at, status, author, taint)",
    agent_rows=f"agent_id = app_agent() AND (end_user_key = '' OR {ITS_OWN})",
    # What every customer's prompt may carry is no customer's words.
    agent_checks="end_user_key <> '' OR taint <> 'customer-derived'",
    agent_updates=ITS_OWN,
    states={"open": ("done", "dropped")},
)
WRITTEN_BY_AGENTS = """
CREATE POLICY notebook_note_agent_insert ON notebook_note AS RESTRICTIVE FOR INSERT TO @agent@
    WITH CHECK ((app_customer() IS NULL OR (end_user_key = app_customer() AND app_customer_is_proven())) AND NOT EXISTS (
        SELECT 1 FROM conversations_conversation AS thread WHERE thread.id = conversation_id AND thread.off_the_record));
CREATE FUNCTION sign_note() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF pg_has_role(current_user, '@operator@'::regrole, 'USAGE')
        OR (NEW.taint <> 'operator' AND NEW.author LIKE 'agent:%') THEN
        RETURN NEW;
    END IF;
    RAISE EXCEPTION 'Only people sign as people.' USING ERRCODE = 'insufficient_privilege';
END $$;
CREATE TRIGGER sign_note BEFORE INSERT OR UPDATE OF text, author, taint ON notebook_note
    FOR EACH ROW EXECUTE FUNCTION sign_note();
CREATE FUNCTION keep_settled_note() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'What is done or dropped stays as it is. Write another note.' USING ERRCODE = 'check_violation';
END $$;
CREATE TRIGGER keep_settled BEFORE UPDATE OF text, due_at, author, taint ON notebook_note
    FOR EACH ROW WHEN (OLD.status <> 'open') EXECUTE FUNCTION keep_settled_note();
CREATE TRIGGER freeze_learning BEFORE INSERT OR UPDATE OF text ON notebook_note
    FOR EACH ROW EXECUTE FUNCTION refuse_frozen_learning()
"""


class Migration(migrations.Migration):
    """Row security, grants, triggers and composite keys."""

    dependencies: ClassVar = [
        ("notebook", "0001_tables"),
        ("conversations", "0002_walls"),
        ("governance", "0003_walls"),
        ("memory", "0009_proven_customers"),
        ("switches", "0002_walls"),
    ]
    operations: ClassVar = [
        RaiseWall("notebook_note", NOTES),
        RoleSQL(WRITTEN_BY_AGENTS),
        ComposeKey("notebook_note"),
        ComposeForeignKey("notebook_note", "agent_id", "tenants_agent"),
        ComposeForeignKey("notebook_note", "conversation_id", "conversations_conversation"),
    ]
