"""A look for questions whose agent was paused before it answered, while the one that asked may still go on."""

from typing import ClassVar

from django.db import migrations

from apps.governance.database import DueWork, RoleSQL

SEEN = """
GRANT SELECT (parent_id, agent_id) ON conversations_conversation TO @crossing@;
GRANT SELECT (idempotency_key, kind) ON conversations_inboundevent TO @crossing@;
GRANT SELECT (id) ON switches_switch TO @crossing@
"""
# The keys are those of `apps.conversations.asking`. Of several switches the oldest is told of, once; most often there is none,
# and nothing else is looked at.
OF_QUESTIONS = """
    SELECT paused.tenant_id, paused.id, statement_timestamp() FROM (
        SELECT child.tenant_id, child.id, child.parent_id, min(switch.id) AS switch_id FROM switches_switch AS switch
            JOIN conversations_conversation AS child ON child.tenant_id = switch.tenant_id
                AND (switch.agent_id IS NULL OR switch.agent_id = child.agent_id) AND switch.channel IN ('', 'agent')
            WHERE switch.status = 'on' AND switch.kind = 'pause-agent'
                AND child.parent_id IS NOT NULL AND child.status = 'open' AND child.held_at IS NULL
            GROUP BY child.tenant_id, child.id) AS paused
        JOIN conversations_conversation AS above ON above.tenant_id = paused.tenant_id AND above.id = paused.parent_id
        WHERE above.status = 'open' AND NOT is_switched_off(ARRAY['pause-agent'], above.tenant_id, above.id)
            AND NOT EXISTS (SELECT 1 FROM conversations_inboundevent AS told WHERE told.tenant_id = above.tenant_id
                AND told.conversation_id = above.id AND (
                    told.kind = 'answer' AND starts_with(told.idempotency_key, 'below-' || paused.id || '-')
                    OR told.idempotency_key = 'below-' || paused.id || '-paused-' || paused.switch_id))
"""


class Migration(migrations.Migration):
    """A right and a function."""

    dependencies: ClassVar = [
        ("runtime", "0014_pinned_learning"),
        ("conversations", "0022_walls_of_talks"),
        ("switches", "0003_files_are_learned_too"),
        ("learning", "0020_a_look_for_each_kind"),
    ]
    operations: ClassVar = [RoleSQL(SEEN), DueWork("question", OF_QUESTIONS)]
