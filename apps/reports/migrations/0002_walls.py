"""The wall around reports: people make, settle and take back; workers read them to learn, and no agent sees one."""

from typing import ClassVar

from django.db import migrations

from apps.governance.database import ComposeForeignKey, ComposeKey, RaiseWall, RoleSQL, Wall

REPORTS = Wall(
    operator="SELECT, INSERT, UPDATE (status, explanation, correction, outcome, settlement, decided_by, decided_at)",
    worker="SELECT",
    agent="",
    crossing="SELECT (tenant_id, id, agent_id, conversation_id, status, decided_at)",
    states={"open": ("settled", "withdrawn")},
)
# A report never says something else than it said, and of what is off the record there is none.
HELD = """
CREATE TRIGGER append_only BEFORE UPDATE OF tenant_id, conversation_id, agent_id, message_id, reason_code, author, taint
    ON reports_report FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER words_only_go BEFORE UPDATE OF explanation, correction ON reports_report
    FOR EACH ROW WHEN (NEW.explanation NOT IN ('', OLD.explanation) OR NEW.correction NOT IN ('', OLD.correction)
        OR (NEW.status <> 'withdrawn' AND (NEW.explanation, NEW.correction) <> (OLD.explanation, OLD.correction)))
    EXECUTE FUNCTION refuse_change();
CREATE TRIGGER settled_stays BEFORE UPDATE OF outcome, settlement, decided_by, decided_at ON reports_report
    FOR EACH ROW WHEN (OLD.status <> 'open') EXECUTE FUNCTION refuse_change();
CREATE FUNCTION hold_report() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (
        SELECT 1 FROM conversations_message AS said JOIN conversations_conversation AS thread
            ON thread.tenant_id = said.tenant_id AND thread.id = said.conversation_id
         WHERE said.tenant_id = NEW.tenant_id AND said.id = NEW.message_id AND thread.id = NEW.conversation_id
           AND thread.agent_id = NEW.agent_id AND said.sender = 'agent' AND said.is_reply
           AND NOT thread.off_the_record AND thread.member_user_id IS NULL
    ) THEN
        RETURN NEW;
    END IF;
    RAISE EXCEPTION 'Only what an agent said to its customer, on the record, is reported.'
        USING ERRCODE = 'insufficient_privilege';
END $$;
CREATE TRIGGER hold_report BEFORE INSERT ON reports_report FOR EACH ROW EXECUTE FUNCTION hold_report()
"""


class Migration(migrations.Migration):
    """Row security, grants, triggers and composite keys."""

    dependencies: ClassVar = [
        ("reports", "0001_tables"),
        ("conversations", "0032_of_customers_by_time"),
        ("governance", "0003_walls"),
    ]
    operations: ClassVar = [
        RaiseWall("reports_report", REPORTS),
        RoleSQL(HELD),
        ComposeKey("reports_report"),
        ComposeForeignKey("reports_report", "conversation_id", "conversations_conversation"),
        ComposeForeignKey("reports_report", "agent_id", "tenants_agent"),
        ComposeForeignKey("reports_report", "message_id", "conversations_message"),
    ]
