"""Words of a conversation off the record may go, and nothing else of what is append-only; and only workers take them out."""

from typing import ClassVar

from django.db import migrations

from apps.governance.database import RoleSQL

FORGETTING = """
CREATE FUNCTION is_forgetting(before jsonb, after jsonb, names text[]) RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT before - names = after - names
       AND NOT EXISTS (SELECT 1 FROM unnest(names) AS each
                        WHERE coalesce(after -> each, 'null') NOT IN ('null', '""', '[]', '{}'))
       AND EXISTS (SELECT 1 FROM conversations_conversation AS thread
                    WHERE thread.tenant_id = (before ->> 'tenant_id')::bigint AND thread.off_the_record
                      AND thread.id = coalesce((before ->> 'conversation_id')::bigint, (
                          SELECT turn.conversation_id FROM runtime_turn AS turn
                           WHERE turn.tenant_id = (before ->> 'tenant_id')::bigint
                             AND turn.id = (before ->> 'turn_id')::bigint)))
$$;
CREATE FUNCTION refuse_all_but_forgetting() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'UPDATE' THEN
        IF is_forgetting(to_jsonb(OLD), to_jsonb(NEW), TG_ARGV) THEN
            RETURN NEW;
        END IF;
    END IF;
    RAISE EXCEPTION '% is append-only.', TG_TABLE_NAME USING ERRCODE = 'check_violation';
END $$;
DROP TRIGGER append_only ON conversations_inboundevent;
CREATE TRIGGER append_only BEFORE DELETE OR UPDATE OF tenant_id, conversation_id, kind, idempotency_key, sender_name, line_key,
    text, text_sha256, received_at, due_at ON conversations_inboundevent FOR EACH ROW
    EXECUTE FUNCTION refuse_all_but_forgetting('text', 'text_sha256', 'sender_name');
DROP TRIGGER append_only ON conversations_message;
CREATE TRIGGER append_only BEFORE DELETE OR UPDATE ON conversations_message FOR EACH ROW
    EXECUTE FUNCTION refuse_all_but_forgetting('text', 'tool_calls', 'wire');
GRANT UPDATE (text, text_sha256, sender_name) ON conversations_inboundevent TO @worker@;
GRANT UPDATE (text, tool_calls, wire) ON conversations_message TO @worker@;
GRANT SELECT (off_the_record, forgotten_at, updated_at) ON conversations_conversation TO @crossing@;
GRANT SELECT (received_at) ON conversations_inboundevent TO @crossing@
"""


class Migration(migrations.Migration):
    """Triggers and rights."""

    dependencies: ClassVar = [
        ("conversations", "0015_forgetting"),
        ("runtime", "0004_durable_turns"),
    ]
    operations: ClassVar = [RoleSQL(FORGETTING)]
