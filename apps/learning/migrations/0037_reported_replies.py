"""A report that somebody settled comes due to be learned from; what reports say of customers' conversations is not found by the books."""

from importlib import import_module
from typing import ClassVar, Final

from django.db import migrations

from apps.governance.database import DueWork, RoleSQL

_CHANGES: Final = import_module("apps.learning.migrations.0036_search_of_changes")
_LESSONS: Final = import_module("apps.learning.migrations.0032_rejected_versions_come_due")
LEFT_OUT: Final = (*_CHANGES.LEFT_OUT, "reports.report")
LOOKS: Final = _CHANGES.LOOKS.replace(_CHANGES._listed(_CHANGES.LEFT_OUT), _CHANGES._listed(LEFT_OUT))
_AFTER: Final = """
    ) AS told
"""
OF_LESSONS: Final = _LESSONS.OF_LESSONS.replace(
    _AFTER,
    f"""
        UNION ALL
        SELECT 'reported_reply', report.id, report.tenant_id, report.agent_id, report.conversation_id, report.decided_at
            FROM reports_report AS report WHERE report.status = 'settled'
                AND report.decided_at > statement_timestamp() - interval '7 days'{_AFTER}""",  # noqa: S608  # of constants
)


class Migration(migrations.Migration):
    """Two functions anew."""

    dependencies: ClassVar = [
        ("learning", "0036_search_of_changes"),
        ("lessons", "0011_reported_replies"),
        ("reports", "0002_walls"),
    ]
    operations: ClassVar = [
        DueWork("lesson", OF_LESSONS),
        RoleSQL(_CHANGES.ROWS_WITH_WORDS.replace("{looks}", LOOKS)),
    ]
