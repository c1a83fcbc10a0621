"""The wall around the desk: people decide, workers put things there, an agent reads what its conversations wait for."""

from typing import ClassVar

from django.db import migrations

from apps.governance.database import ComposeForeignKey, ComposeKey, RaiseWall, RoleSQL, Wall

OF_VISIBLE_CONVERSATION = "agent_id = app_agent() AND EXISTS (SELECT 1 FROM conversations_conversation AS thread WHERE thread.id = conversation_id)"
DRAFTS = Wall(
    operator="SELECT, UPDATE (status, sent_text, reason_code, reason, decided_by, decided_at, message_id)",
    worker="SELECT, INSERT, UPDATE (status, decided_by, decided_at)",
    agent_rows=OF_VISIBLE_CONVERSATION,
    states={"open": ("sent", "sent_edited", "discarded", "superseded")},
)
# A settled question stays as it was asked.
ESCALATIONS = Wall(
    operator="SELECT, INSERT, UPDATE (question, status, answer, dismissal, decided_by, decided_at)",
    worker="SELECT, INSERT, UPDATE (question)",
    agent="SELECT, INSERT, UPDATE (question)",
    agent_rows=OF_VISIBLE_CONVERSATION,
    agent_updates="status = 'open'",
    states={"open": ("answered", "dismissed")},
)
SEND_RULES = Wall(operator="SELECT, INSERT, DELETE, UPDATE (send_mode)", agent="")
# What an agent asks stands under its own name and as a customer's words, for it may repeat one.
ASKED_BY_AGENTS = """
CREATE POLICY desk_escalation_agent_insert ON desk_escalation AS RESTRICTIVE FOR INSERT TO @agent@
    WITH CHECK (opened_by LIKE 'agent:%' AND taint = 'customer-derived'
        AND decided_by = '' AND answer = '' AND dismissal = '')
"""


class Migration(migrations.Migration):
    """Row security, grants, triggers and composite keys."""

    dependencies: ClassVar = [
        ("desk", "0001_tables"),
        ("conversations", "0005_sent_by"),
        ("governance", "0003_walls"),
        ("skills", "0002_walls"),
    ]
    operations: ClassVar = [
        RaiseWall("desk_draft", DRAFTS),
        RaiseWall("desk_escalation", ESCALATIONS),
        RaiseWall("desk_sendrule", SEND_RULES),
        RoleSQL(ASKED_BY_AGENTS),
        ComposeKey("desk_draft"),
        ComposeKey("desk_escalation"),
        ComposeForeignKey("desk_draft", "conversation_id", "conversations_conversation"),
        ComposeForeignKey("desk_draft", "agent_id", "tenants_agent"),
        ComposeForeignKey("desk_draft", "message_id", "conversations_message"),
        ComposeForeignKey("desk_escalation", "conversation_id", "conversations_conversation"),
        ComposeForeignKey("desk_escalation", "agent_id", "tenants_agent"),
        ComposeForeignKey("desk_sendrule", "agent_id", "tenants_agent"),
        ComposeForeignKey("desk_sendrule", "skill_id", "skills_skill"),
    ]
