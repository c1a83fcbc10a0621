"""An agent takes back a draft of its own; what people planned or approved it does not touch."""

from typing import ClassVar

from django.db import migrations

from apps.governance.database import RoleSQL

# As the row stands before, and as it may stand afterwards; born it is a draft, whoever plans it.
OWN_DRAFTS = """
GRANT UPDATE (status) ON schedules_schedule TO @agent@;
CREATE POLICY schedules_schedule_agent_update ON schedules_schedule AS RESTRICTIVE FOR UPDATE TO @agent@
    USING (status = 'draft' AND starts_with(drafted_by, 'agent:')) WITH CHECK (status = 'deprecated');
ALTER POLICY schedules_schedule_agent ON schedules_schedule
    WITH CHECK (agent_id = app_agent() AND status IN ('draft', 'deprecated') AND approved_by = ''
        AND drafted_by LIKE 'agent:%' AND taint <> 'operator')
"""


class Migration(migrations.Migration):
    """One policy more, and one anew."""

    dependencies: ClassVar = [
        ("schedules", "0002_walls"),
    ]
    operations: ClassVar = [RoleSQL(OWN_DRAFTS)]
