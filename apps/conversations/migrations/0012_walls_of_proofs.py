"""A conversation is born unproven, is proven once, and names the same customer for good."""

from typing import ClassVar

from django.db import migrations

from apps.governance.database import RoleSQL

PROOFS_STAY = """
CREATE FUNCTION keep_the_proof() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'Whose conversation it is stays as it began; it is proven later than it opens, and once.'
        USING ERRCODE = 'check_violation';
END $$;
CREATE TRIGGER born_unproven BEFORE INSERT ON conversations_conversation FOR EACH ROW
    WHEN (NEW.proven_at IS NOT NULL) EXECUTE FUNCTION keep_the_proof();
CREATE TRIGGER keep_the_proof BEFORE UPDATE ON conversations_conversation FOR EACH ROW
    WHEN (NEW.end_user_key <> OLD.end_user_key OR (OLD.proven_at IS NOT NULL
        AND (NEW.proven_at IS DISTINCT FROM OLD.proven_at OR NEW.proven_key_id IS DISTINCT FROM OLD.proven_key_id)))
    EXECUTE FUNCTION keep_the_proof()
"""


class Migration(migrations.Migration):
    """Triggers."""

    dependencies: ClassVar = [
        ("conversations", "0011_proofs"),
    ]
    operations: ClassVar = [RoleSQL(PROOFS_STAY)]
