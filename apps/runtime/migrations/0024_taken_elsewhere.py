"""A turn that is taken elsewhere is begun and ended here: it is answered by its report and by nothing else."""

from typing import ClassVar

from django.db import migrations, models

from apps.governance.database import DueWork, RoleSQL

# A turn of a person's own in such a conversation has no session.
TAKEN = """
CREATE FUNCTION keep_turns_taken_elsewhere() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    elsewhere boolean;
BEGIN
    SELECT thread.runs_elsewhere INTO elsewhere FROM conversations_conversation AS thread
     WHERE thread.tenant_id = NEW.tenant_id AND thread.id = NEW.conversation_id;
    IF NOT elsewhere AND (NEW.framed IS NOT NULL OR NEW.report_sha256 <> '') THEN
        RAISE EXCEPTION 'A turn is handed out and reported only where the agent runs elsewhere.'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'taken_elsewhere';
    END IF;
    IF NEW.framed IS NOT NULL AND NEW.status <> 'running' THEN
        RAISE EXCEPTION 'What was handed out is kept as long as the turn runs.'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'taken_elsewhere';
    END IF;
    IF elsewhere AND NEW.status = 'done' AND NEW.session_id IS NOT NULL AND NEW.report_sha256 = '' THEN
        RAISE EXCEPTION 'Where the agent runs elsewhere, a turn is answered by its report.'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'taken_elsewhere';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER keep_turns_taken_elsewhere BEFORE INSERT OR UPDATE OF framed, report_sha256, status ON runtime_turn FOR EACH ROW
    WHEN (NEW.framed IS NOT NULL OR NEW.report_sha256 <> '' OR NEW.status = 'done')
    EXECUTE FUNCTION keep_turns_taken_elsewhere();
CREATE FUNCTION keep_the_report() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'A turn is reported once.' USING ERRCODE = 'check_violation', CONSTRAINT = 'taken_elsewhere';
END $$;
CREATE TRIGGER keep_the_report BEFORE UPDATE OF report_sha256 ON runtime_turn FOR EACH ROW
    WHEN (OLD.report_sha256 <> '' AND NEW.report_sha256 <> OLD.report_sha256) EXECUTE FUNCTION keep_the_report()
"""
# What our workers ask is never written there, and whoever reports cannot say that the stand-in answered, which costs nothing.
CALLED = """
CREATE FUNCTION refuse_calls_of_ours() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (
        SELECT 1 FROM runtime_turn AS turn JOIN conversations_conversation AS thread
            ON thread.tenant_id = turn.tenant_id AND thread.id = turn.conversation_id
         WHERE turn.tenant_id = NEW.tenant_id AND turn.id = NEW.turn_id AND thread.runs_elsewhere
           AND (turn.report_sha256 = '' OR NEW.stand_in)) THEN
        RAISE EXCEPTION 'Where the agent runs elsewhere, it asks its model itself and reports what it asked.'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'taken_elsewhere';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER refuse_calls_of_ours BEFORE INSERT ON runtime_modelcall FOR EACH ROW EXECUTE FUNCTION refuse_calls_of_ours();
GRANT SELECT (deadline_at) ON runtime_turn TO @crossing@
"""
# Where the agent runs elsewhere a worker only ends what nobody reported, or what a colleague answers by now.
OF_TURNS = """
    SELECT found.tenant_id, found.row_id, min(found.since) FROM (
        SELECT event.tenant_id, event.conversation_id AS row_id, event.due_at AS since
            FROM conversations_inboundevent AS event
            WHERE event.turn_id IS NULL AND event.due_at <= statement_timestamp() AND NOT EXISTS (
                -- What a colleague answers waits for them.
                SELECT 1 FROM conversations_conversation AS thread WHERE thread.id = event.conversation_id
                    AND thread.tenant_id = event.tenant_id AND (thread.held_at IS NOT NULL
                        OR thread.runs_elsewhere AND event.due_at > statement_timestamp() - interval '15 minutes'))
            AND NOT EXISTS (
                SELECT 1 FROM runtime_turn AS turn WHERE turn.conversation_id = event.conversation_id
                    AND turn.tenant_id = event.tenant_id AND turn.status = 'running'
                    AND greatest(turn.lease_until, turn.run_at) > statement_timestamp())
        UNION ALL
        SELECT turn.tenant_id, turn.conversation_id, turn.run_at FROM runtime_turn AS turn
            WHERE turn.status = 'running' AND greatest(turn.lease_until, turn.run_at) <= statement_timestamp()
            AND NOT EXISTS (
                SELECT 1 FROM conversations_conversation AS thread WHERE thread.id = turn.conversation_id
                    AND thread.tenant_id = turn.tenant_id AND thread.runs_elsewhere AND thread.held_at IS NULL
                    AND turn.deadline_at > statement_timestamp())
    ) AS found
    GROUP BY found.tenant_id, found.row_id
    HAVING NOT is_switched_off(ARRAY['pause-agent'], found.tenant_id, found.row_id)
"""


class Migration(migrations.Migration):
    """Two columns, triggers, and what is due."""

    dependencies: ClassVar = [
        ("runtime", "0023_figures"),
        ("conversations", "0029_runs_elsewhere"),
        ("learning", "0034_search"),
    ]
    operations: ClassVar = [
        migrations.AddField(model_name="turn", name="framed", field=models.JSONField(null=True)),
        migrations.AddField(
            model_name="turn",
            name="report_sha256",
            field=models.CharField(blank=True, db_default="", max_length=64),
        ),
        RoleSQL(TAKEN),
        RoleSQL(CALLED),
        DueWork("turn", OF_TURNS),
    ]
