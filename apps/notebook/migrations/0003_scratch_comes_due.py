"""Scratch that nobody touched for a week is due to be dropped."""

from typing import ClassVar

from django.db import migrations

from apps.governance.database import DueWork, RoleSQL

SEEN = """
GRANT SELECT (id, tenant_id, kind, status, updated_at) ON notebook_note TO @crossing@;
CREATE POLICY notebook_note_crossing ON notebook_note TO @crossing@ USING (true) WITH CHECK (true)
"""
# `apps.notebook.rules.SCRATCH_KEPT`, looked at once more where it is dropped.
OLD_SCRATCH = """
    SELECT note.tenant_id, note.id, note.updated_at FROM notebook_note AS note
        WHERE note.kind = 'scratch' AND note.status = 'open' AND note.updated_at <= statement_timestamp() - interval '7 days'
"""


class Migration(migrations.Migration):
    """A right and a function."""

    dependencies: ClassVar = [
        ("notebook", "0002_walls"),
        ("learning", "0020_a_look_for_each_kind"),
    ]
    operations: ClassVar = [RoleSQL(SEEN), DueWork("scratch", OLD_SCRATCH)]
