"""Whose a session is, is asked of each that is read and not by reading every conversation there is."""

from typing import ClassVar

from django.db import migrations

from apps.governance.database import RoleSQL

# As before. With an offset PostgreSQL looks each conversation up by its key; without it, a table of all of them is made first
# wherever many sessions could be read, though a list reads fifty.
TALK = """
ALTER POLICY runtime_session_talk ON runtime_session USING (
    EXISTS (SELECT 1 FROM conversations_conversation AS thread WHERE thread.id = conversation_id OFFSET 0))
"""


class Migration(migrations.Migration):
    """One policy, the same in other words."""

    dependencies: ClassVar = [("runtime", "0025_skills_read_by_either_name")]
    operations: ClassVar = [RoleSQL(TALK)]
