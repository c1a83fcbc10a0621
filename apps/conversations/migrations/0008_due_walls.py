"""When an event is due is settled when it arrives."""

from typing import ClassVar

from django.db import migrations

from apps.governance.database import RoleSQL

EVENTS_STAY = """
DROP TRIGGER append_only ON conversations_inboundevent;
CREATE TRIGGER append_only BEFORE DELETE OR UPDATE OF tenant_id, conversation_id, kind, idempotency_key, sender_name, line_key,
    text, text_sha256, received_at, due_at ON conversations_inboundevent FOR EACH ROW EXECUTE FUNCTION refuse_change();
GRANT SELECT (due_at) ON conversations_inboundevent TO @crossing@
"""


class Migration(migrations.Migration):
    """One trigger anew."""

    dependencies: ClassVar = [
        ("conversations", "0007_durable_turns"),
    ]
    operations: ClassVar = [RoleSQL(EVENTS_STAY)]
