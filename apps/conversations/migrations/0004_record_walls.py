"""Whether a conversation is off the record, and which line an event came in on, stay what they were."""

from typing import ClassVar

from django.db import migrations

from apps.governance.database import RoleSQL

RECORD_STAYS = """
CREATE FUNCTION keep_the_record() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'Whether a conversation is off the record is settled when it opens.'
        USING ERRCODE = 'check_violation';
END $$;
CREATE TRIGGER keep_the_record BEFORE UPDATE ON conversations_conversation FOR EACH ROW
    WHEN (NEW.off_the_record <> OLD.off_the_record) EXECUTE FUNCTION keep_the_record()
"""
EVENTS_STAY = """
DROP TRIGGER append_only ON conversations_inboundevent;
CREATE TRIGGER append_only BEFORE DELETE OR UPDATE OF tenant_id, conversation_id, kind, idempotency_key, sender_name, line_key,
    text, text_sha256, received_at ON conversations_inboundevent FOR EACH ROW EXECUTE FUNCTION refuse_change()
"""


class Migration(migrations.Migration):
    """Triggers."""

    dependencies: ClassVar = [
        ("conversations", "0003_record_and_lines"),
    ]
    operations: ClassVar = [
        RoleSQL(RECORD_STAYS),
        RoleSQL(EVENTS_STAY),
    ]
