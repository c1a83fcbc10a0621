"""The walls around runs of the digest and their claims, and a look for agents whose lessons wait for one."""

from typing import ClassVar

from django.db import migrations

from apps.governance.database import ComposeForeignKey, DueWork, RaiseWall, RoleSQL, UniqueInTenant, Wall

RUNS = Wall(operator="SELECT", worker="SELECT, INSERT", agent="", versioned=False, append_only=True)
CLAIMS = Wall(
    operator="SELECT",
    worker="SELECT, INSERT, UPDATE (lease_until, claimed_at, read_at, next_look_at, failures, failure)",
    agent="",
    crossing="SELECT (tenant_id, agent_id, lease_until, read_at, next_look_at)",
    versioned=False,
)
# One version at a time waits for a person, and one worker at a time digests.
OF_DIGESTS = """
    SELECT lesson.tenant_id, lesson.agent_id, min(lesson.noted_at) FROM lessons_lesson AS lesson
        JOIN tenants_agent AS agent ON agent.tenant_id = lesson.tenant_id AND agent.id = lesson.agent_id AND agent.learns
        LEFT JOIN learning_digestclaim AS held ON held.tenant_id = lesson.tenant_id AND held.agent_id = lesson.agent_id
        WHERE lesson.digested_in_id IS NULL AND (lesson.support_count >= 2 OR lesson.confidence >= 0.4)
            AND lesson.noted_at > coalesce(held.read_at, '-infinity')
            AND coalesce(greatest(held.lease_until, held.next_look_at) <= statement_timestamp(), true)
            AND NOT EXISTS (SELECT 1 FROM lessons_learningversion AS version WHERE version.tenant_id = lesson.tenant_id
                AND version.agent_id = lesson.agent_id AND version.status = 'pending')
            AND NOT EXISTS (SELECT 1 FROM switches_switch AS switch WHERE switch.tenant_id = lesson.tenant_id
                AND switch.status = 'on' AND switch.kind = 'freeze-learning' AND switch.channel = ''
                AND (switch.agent_id IS NULL OR switch.agent_id = lesson.agent_id))
        GROUP BY lesson.tenant_id, lesson.agent_id
"""
SEEN_ACROSS_TENANTS = """
GRANT SELECT (tenant_id, agent_id, digested_in_id, support_count, confidence, noted_at) ON lessons_lesson TO @crossing@;
GRANT SELECT (tenant_id, agent_id, status) ON lessons_learningversion TO @crossing@;
GRANT SELECT (learns) ON tenants_agent TO @crossing@;
CREATE POLICY lessons_lesson_crossing ON lessons_lesson TO @crossing@ USING (true) WITH CHECK (true);
CREATE POLICY lessons_learningversion_crossing ON lessons_learningversion TO @crossing@ USING (true) WITH CHECK (true)
"""


class Migration(migrations.Migration):
    """Row security, grants and one function anew."""

    dependencies: ClassVar = [
        ("learning", "0023_digests"),
        ("lessons", "0004_walls_of_versions"),
    ]
    operations: ClassVar = [
        RaiseWall("learning_digestrun", RUNS),
        RaiseWall("learning_digestclaim", CLAIMS),
        ComposeForeignKey("learning_digestrun", "agent_id", "tenants_agent"),
        ComposeForeignKey("learning_digestclaim", "agent_id", "tenants_agent"),
        UniqueInTenant("learning_digestclaim", "agent_id"),
        RoleSQL(SEEN_ACROSS_TENANTS),
        DueWork("digest", OF_DIGESTS),
    ]
