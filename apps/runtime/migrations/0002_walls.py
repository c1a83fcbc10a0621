"""The wall around sessions, turns and usage: workers write them, people and the agent itself read."""

from typing import ClassVar

from django.db import migrations

from apps.governance.database import ComposeForeignKey, ComposeKey, RaiseWall, Wall

OF_VISIBLE_CONVERSATION = (
    "EXISTS (SELECT 1 FROM conversations_conversation AS thread WHERE thread.id = conversation_id)"
)


def _journal(agent_rows: str) -> Wall:
    return Wall(operator="SELECT", worker="SELECT, INSERT", agent_rows=agent_rows, versioned=False, append_only=True)


SESSIONS = _journal(OF_VISIBLE_CONVERSATION)
SESSION_PARTS = _journal("EXISTS (SELECT 1 FROM runtime_session AS session WHERE session.id = session_id)")
PARTS = _journal("EXISTS (SELECT 1 FROM runtime_sessionpart AS place WHERE place.part_id = runtime_snapshotpart.id)")
CALLS = _journal("EXISTS (SELECT 1 FROM runtime_turn AS turn WHERE turn.id = turn_id)")
TURNS = Wall(
    operator="SELECT",
    worker="SELECT, INSERT, UPDATE",
    agent_rows=OF_VISIBLE_CONVERSATION,
    crossing="SELECT (id, tenant_id, conversation_id, status, lease_until)",
    versioned=False,
    states={"running": ("done", "failed")},
)


class Migration(migrations.Migration):
    """Row security, grants, triggers and composite keys."""

    dependencies: ClassVar = [
        ("runtime", "0001_tables"),
        ("conversations", "0002_walls"),
    ]
    operations: ClassVar = [
        RaiseWall("runtime_session", SESSIONS),
        RaiseWall("runtime_sessionpart", SESSION_PARTS),
        RaiseWall("runtime_snapshotpart", PARTS),
        RaiseWall("runtime_turn", TURNS),
        RaiseWall("runtime_modelcall", CALLS),
        ComposeKey("runtime_session"),
        ComposeKey("runtime_snapshotpart"),
        ComposeKey("runtime_turn"),
        ComposeForeignKey("runtime_session", "conversation_id", "conversations_conversation"),
        ComposeForeignKey("runtime_session", "agent_id", "tenants_agent"),
        ComposeForeignKey("runtime_sessionpart", "session_id", "runtime_session"),
        ComposeForeignKey("runtime_sessionpart", "part_id", "runtime_snapshotpart"),
        ComposeForeignKey("runtime_turn", "conversation_id", "conversations_conversation"),
        ComposeForeignKey("runtime_turn", "session_id", "runtime_session"),
        ComposeForeignKey("runtime_turn", "reply_id", "conversations_message"),
        ComposeForeignKey("runtime_modelcall", "turn_id", "runtime_turn"),
    ]
