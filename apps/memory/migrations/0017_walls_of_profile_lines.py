"""What is noted of customers already gets its ledger; then the wall: in a turn there is that customer's alone."""

from typing import ClassVar

from django.db import migrations

from apps.governance.database import ComposeForeignKey, ComposeKey, RaiseWall, RoleSQL, Wall

STAND = """
ALTER TABLE memory_customerprofile NO FORCE ROW LEVEL SECURITY;
INSERT INTO memory_profileline (tenant_id, profile_id, part, sha256, text, author, taint, first_version, last_version, status,
    began_at)
SELECT profile.tenant_id, profile.id, noted.part, encode(sha256(convert_to(line, 'UTF8')), 'hex'), line,
    profile.updated_by, profile.taint, profile.version, profile.version, 'standing', profile.updated_at
FROM memory_customerprofile AS profile
CROSS JOIN LATERAL (VALUES ('preferences', profile.preferences), ('notes', profile.notes)) AS noted (part, text)
CROSS JOIN LATERAL (SELECT DISTINCT unnest(told_lines(noted.text)) AS line) AS lines;
ALTER TABLE memory_customerprofile FORCE ROW LEVEL SECURITY
"""
_ENDS = "status, ended_at, last_version, superseded_by_id"
LINES = Wall(
    operator=f"SELECT, INSERT, UPDATE ({_ENDS}, taint, author)",
    worker=f"SELECT, INSERT, UPDATE ({_ENDS})",
    agent=f"SELECT, INSERT, UPDATE ({_ENDS})",
    # Which profiles an agent sees says their own wall.
    agent_rows="EXISTS (SELECT 1 FROM memory_customerprofile AS profile WHERE profile.id = profile_id)",
    versioned=False,
    states={"standing": ("superseded", "removed"), "superseded": (), "removed": ()},
    extra=(
        "CREATE TRIGGER sign_line BEFORE INSERT ON memory_profileline FOR EACH ROW EXECUTE FUNCTION sign_line()",
        """CREATE TRIGGER keep_ended BEFORE UPDATE ON memory_profileline FOR EACH ROW
    WHEN (OLD.status <> 'standing') EXECUTE FUNCTION refuse_change()""",
    ),
)


class Migration(migrations.Migration):
    """The rows, row security, grants, triggers and composite keys."""

    dependencies: ClassVar = [
        ("memory", "0016_profile_lines"),
    ]
    operations: ClassVar = [
        RoleSQL(STAND),
        RaiseWall("memory_profileline", LINES),
        ComposeKey("memory_customerprofile"),
        ComposeKey("memory_profileline"),
        ComposeForeignKey("memory_profileline", "profile_id", "memory_customerprofile"),
        ComposeForeignKey("memory_profileline", "superseded_by_id", "memory_profileline"),
    ]
