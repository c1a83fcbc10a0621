"""When words of a conversation off the record are due to go: messages and its end count too, all by the database's clock."""

from typing import ClassVar

from django.db import migrations

from apps.governance.database import RoleSQL

# Forgetting is a change of the row by itself: stamped with its own moment, it is no later change that would be due again.
# Triggers fire in the order of their names, so this one has the last word on the time.
MOMENT = """
CREATE FUNCTION stamp_forgetting() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.updated_at := NEW.forgotten_at;
    RETURN NEW;
END $$;
CREATE TRIGGER stamp_when_forgotten BEFORE UPDATE OF forgotten_at ON conversations_conversation FOR EACH ROW
    WHEN (NEW.forgotten_at IS DISTINCT FROM OLD.forgotten_at) EXECUTE FUNCTION stamp_forgetting();
GRANT SELECT (tenant_id, conversation_id, created_at) ON conversations_message TO @crossing@;
CREATE POLICY conversations_message_crossing ON conversations_message TO @crossing@ USING (true) WITH CHECK (true)
"""


class Migration(migrations.Migration):
    """A trigger and rights."""

    dependencies: ClassVar = [
        ("conversations", "0018_walls_of_rating"),
    ]
    operations: ClassVar = [RoleSQL(MOMENT)]
