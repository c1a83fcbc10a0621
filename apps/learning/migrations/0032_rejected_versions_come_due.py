"""The look for what no lesson was made of sees learning versions, too, that a person rejected or withdrew."""

from typing import ClassVar

from django.db import migrations

from apps.governance.database import DueWork, RoleSQL

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
        UNION ALL
        SELECT 'rejected_version', learned.id, learned.tenant_id, learned.agent_id, NULL, learned.updated_at
            FROM lessons_learningversion AS learned
            WHERE learned.status IN ('rejected', 'withdrawn')
                AND learned.updated_at > statement_timestamp() - interval '7 days'
    ) AS told
        WHERE NOT EXISTS (SELECT 1 FROM conversations_conversation AS thread WHERE thread.tenant_id = told.tenant_id
            AND thread.id = told.conversation_id AND (thread.off_the_record OR thread.member_user_id IS NOT NULL))
        AND NOT EXISTS (SELECT 1 FROM lessons_lessoncase AS known WHERE known.tenant_id = told.tenant_id
            AND known.source = told.source AND known.source_id = told.id)
        GROUP BY told.tenant_id, told.agent_id
"""


class Migration(migrations.Migration):
    """One function anew, and leave for it to see when a version was settled."""

    dependencies: ClassVar = [
        ("learning", "0031_reflections_bring_lines"),
        ("lessons", "0010_rejected_versions"),
    ]
    operations: ClassVar = [
        RoleSQL("GRANT SELECT (id, updated_at) ON lessons_learningversion TO @crossing@"),
        DueWork("lesson", OF_LESSONS),
    ]
