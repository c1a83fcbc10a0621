"""The wall around comments: people add them and take them back; neither agents nor the workers that run turns read one."""

from typing import ClassVar

from django.db import migrations

from apps.governance.database import ComposeForeignKey, ComposeKey, RaiseWall, RoleSQL, Wall

COMMENTS = Wall(
    operator="SELECT, INSERT, UPDATE (status, text)",
    worker="",
    agent="",
    states={"stands": ("withdrawn",)},
)
# A comment never says something else than it said: its words only go.
HELD = """
CREATE TRIGGER append_only BEFORE UPDATE OF tenant_id, proposal_id, agent_id, author, taint ON comments_comment
    FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER words_only_go BEFORE UPDATE OF text ON comments_comment
    FOR EACH ROW WHEN (NEW.text <> '' AND NEW.text <> OLD.text) EXECUTE FUNCTION refuse_change()
"""


class Migration(migrations.Migration):
    """Row security, grants, triggers and composite keys."""

    dependencies: ClassVar = [("comments", "0001_tables"), ("governance", "0003_walls")]
    operations: ClassVar = [
        RaiseWall("comments_comment", COMMENTS),
        RoleSQL(HELD),
        ComposeKey("comments_comment"),
        ComposeForeignKey("comments_comment", "agent_id", "tenants_agent"),
        ComposeForeignKey("comments_comment", "proposal_id", "governance_proposal"),
    ]
