"""The look for what no lesson was made of goes back a week, not to the first day: it comes every minute."""

from typing import ClassVar

from django.db import migrations

from apps.governance.database import DueWork

# As before but for the week. What is older, because no worker ran so long, is taken along with the agent's next lesson.
OF_LESSONS = """
    SELECT told.tenant_id, told.agent_id, min(told.at) FROM (
        SELECT CASE draft.status WHEN 'discarded' THEN 'discarded_draft' ELSE 'edited_draft' END AS source, draft.id,
               draft.tenant_id, draft.agent_id, draft.conversation_id, draft.decided_at AS at
            FROM desk_draft AS draft WHERE draft.status IN ('sent_edited', 'discarded')
                AND draft.decided_at > statement_timestamp() - interval '7 days'
        UNION ALL
        SELECT 'answered_escalation', question.id, question.tenant_id, question.agent_id, question.conversation_id,
               question.decided_at
            FROM desk_escalation AS question WHERE question.status = 'answered'
                AND question.decided_at > statement_timestamp() - interval '7 days'
        UNION ALL
        SELECT 'dead_turn', turn.id, turn.tenant_id, thread.agent_id, turn.conversation_id, turn.finished_at
            FROM runtime_turn AS turn JOIN conversations_conversation AS thread
                ON thread.tenant_id = turn.tenant_id AND thread.id = turn.conversation_id
            WHERE turn.status = 'failed'
                AND turn.finished_at > statement_timestamp() - interval '7 days'
        UNION ALL
        SELECT 'rejected_proposal', proposal.id, proposal.tenant_id, proposal.agent_id, NULL, proposal.decided_at
            FROM governance_proposal AS proposal
            WHERE proposal.state = 'rejected'
                AND proposal.decided_at > statement_timestamp() - interval '7 days' AND proposal.agent_id IS NOT NULL
    ) AS told
        WHERE NOT EXISTS (SELECT 1 FROM conversations_conversation AS thread WHERE thread.tenant_id = told.tenant_id
            AND thread.id = told.conversation_id AND (thread.off_the_record OR thread.member_user_id IS NOT NULL))
        AND NOT EXISTS (SELECT 1 FROM lessons_lessoncase AS known WHERE known.tenant_id = told.tenant_id
            AND known.source = told.source AND known.source_id = told.id)
        GROUP BY told.tenant_id, told.agent_id
"""


class Migration(migrations.Migration):
    """One function anew, and the indexes it goes by."""

    dependencies: ClassVar = [
        ("learning", "0027_walls_of_tiers"),
        ("desk", "0004_decided_lately"),
        ("governance", "0013_rejected_lately"),
        ("runtime", "0016_failed_lately"),
    ]
    operations: ClassVar = [DueWork("lesson", OF_LESSONS)]
