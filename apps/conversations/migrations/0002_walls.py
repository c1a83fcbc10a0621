"""The wall around conversations: an agent sees its own, and in a turn those of one customer."""

from typing import ClassVar

from django.db import migrations

from apps.governance.database import ComposeForeignKey, ComposeKey, RaiseWall, RoleSQL, Wall

CONVERSATIONS = Wall(
    worker="SELECT, INSERT, UPDATE",
    agent="SELECT, INSERT, UPDATE (status, outcome, resolved_at)",
    agent_rows="agent_id = app_agent() AND (app_customer() IS NULL OR end_user_key = app_customer())",
    crossing="SELECT (id, tenant_id, status, origin)",
    states={"open": ("resolved", "abandoned")},
)
OF_VISIBLE_CONVERSATION = (
    "EXISTS (SELECT 1 FROM conversations_conversation AS thread WHERE thread.id = conversation_id)"
)
EVENTS = Wall(
    operator="SELECT, INSERT",
    worker="SELECT, INSERT, UPDATE (turn_id)",
    agent="SELECT, INSERT",
    agent_rows=OF_VISIBLE_CONVERSATION,
    agent_checks="kind = 'message' AND turn_id IS NULL",
    crossing="SELECT (id, tenant_id, conversation_id, turn_id)",
    versioned=False,
)
MESSAGES = Wall(
    operator="SELECT, INSERT",
    worker="SELECT, INSERT",
    agent_rows=OF_VISIBLE_CONVERSATION,
    versioned=False,
    append_only=True,
)
# An event never changes but for the turn that takes it.
EVENTS_STAY = """
CREATE TRIGGER append_only BEFORE DELETE OR UPDATE OF tenant_id, conversation_id, kind, idempotency_key, sender_name, text,
    text_sha256, received_at ON conversations_inboundevent FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER answered_once BEFORE UPDATE OF turn_id ON conversations_inboundevent FOR EACH ROW
    WHEN (OLD.turn_id IS NOT NULL AND NEW.turn_id IS DISTINCT FROM OLD.turn_id) EXECUTE FUNCTION refuse_change()
"""


class Migration(migrations.Migration):
    """Row security, grants, triggers and composite keys."""

    dependencies: ClassVar = [
        ("conversations", "0001_tables"),
        ("governance", "0003_walls"),
    ]
    operations: ClassVar = [
        RaiseWall("conversations_conversation", CONVERSATIONS),
        RaiseWall("conversations_inboundevent", EVENTS),
        RaiseWall("conversations_message", MESSAGES),
        RoleSQL(EVENTS_STAY),
        ComposeKey("conversations_conversation"),
        ComposeKey("conversations_message"),
        ComposeForeignKey("conversations_conversation", "agent_id", "tenants_agent"),
        ComposeForeignKey("conversations_conversation", "follows_id", "conversations_conversation"),
        ComposeForeignKey("conversations_inboundevent", "conversation_id", "conversations_conversation"),
        ComposeForeignKey("conversations_message", "conversation_id", "conversations_conversation"),
    ]
