"""Whoever follows what waits for people is told that something became of it: of which tenant, and nothing else."""

from typing import ClassVar

from django.db import migrations

from apps.governance.database import RoleSQL

# PostgreSQL tells it with the commit, or never. Commits that tell something go one behind the other, so the others do not.
TELLING = """
CREATE FUNCTION tell_of_review() RETURNS trigger LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
BEGIN
    PERFORM pg_notify('preceptor_review', NEW.tenant_id::text);
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION tell_of_review() FROM PUBLIC;
CREATE TRIGGER tell_of_review AFTER INSERT ON governance_changerecord FOR EACH ROW
    WHEN (NEW.subject_type IN ('governance.proposal', 'desk.draft', 'desk.escalation'))
    EXECUTE FUNCTION tell_of_review()
"""


class Migration(migrations.Migration):
    """One trigger."""

    dependencies: ClassVar = [
        ("governance", "0014_books_by_time"),
    ]
    operations: ClassVar = [
        RoleSQL(TELLING),
    ]
