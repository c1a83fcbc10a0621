"""The wall around kept answers: whoever asked reads their own alone; workers forget what is old, and read none."""

from typing import ClassVar

from django.db import migrations

from apps.governance.database import DueWork, RaiseWall, RoleSQL, Wall

_OWN = "SELECT, INSERT, DELETE, UPDATE (request_sha256, status, body, row_id, location, begun_at, forget_at)"
ANSWERS = Wall(
    operator=_OWN,
    agent=_OWN,
    worker="SELECT (id, tenant_id, forget_at), DELETE",
    staff="",
    # In a turn an agent serves one customer; what it answered about others is none of it.
    agent_rows="asker = 'agent:' || app_agent() AND app_customer() IS NULL",
    versioned=False,
)
OF_PERSONS = """
CREATE POLICY api_keptanswer_member ON api_keptanswer AS RESTRICTIVE TO @operator@
    USING (asker = 'member:' || app_member()) WITH CHECK (asker = 'member:' || app_member());
GRANT SELECT (tenant_id, forget_at) ON api_keptanswer TO @crossing@;
CREATE POLICY api_keptanswer_crossing ON api_keptanswer TO @crossing@ USING (true) WITH CHECK (true)
"""
# A tenant each: what is old goes in one statement.
OLD_ANSWERS = """
    SELECT kept.tenant_id, kept.tenant_id, min(kept.forget_at) FROM api_keptanswer AS kept
        WHERE kept.forget_at <= statement_timestamp() GROUP BY kept.tenant_id
"""


class Migration(migrations.Migration):
    """Row security, grants and what comes due."""

    dependencies: ClassVar = [
        ("api", "0001_tables"),
        ("governance", "0012_member"),
        ("learning", "0033_work_of_a_tenant"),
    ]
    operations: ClassVar = [
        RaiseWall("api_keptanswer", ANSWERS),
        RoleSQL(OF_PERSONS),
        DueWork("answer", OLD_ANSWERS),
    ]
