"""A version is taken out for good by a person alone, and stays: it tells what to leave out of histories."""

from typing import ClassVar

from django.db import migrations, models

from apps.governance.database import RoleSQL

WITHDRAWN = """
DROP TRIGGER move_state ON lessons_learningversion;
CREATE TRIGGER move_state BEFORE INSERT OR UPDATE ON lessons_learningversion FOR EACH ROW
    EXECUTE FUNCTION move_state('status', 'pending', 'pending>active pending>rejected active>retired retired>active'
                                ' active>withdrawn retired>withdrawn');
CREATE OR REPLACE FUNCTION hold_learning_version() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN
        IF OLD.status IN ('active', 'pending', 'withdrawn') THEN
            RAISE EXCEPTION 'A version that is read, waits for a person, or was withdrawn stays.' USING ERRCODE = 'check_violation';
        END IF;
        RETURN OLD;
    END IF;
    IF TG_OP = 'INSERT' AND NEW.approved_by <> '' THEN
        RAISE EXCEPTION 'Nobody has approved a version before it is there.' USING ERRCODE = 'check_violation';
    END IF;
    IF TG_OP = 'UPDATE' AND NEW.status = 'withdrawn' AND NOT pg_has_role(current_user, '@operator@'::regrole, 'USAGE') THEN
        RAISE EXCEPTION 'A person withdraws a version.' USING ERRCODE = 'insufficient_privilege';
    END IF;
    IF NEW.status <> 'active' OR TG_OP = 'INSERT' OR OLD.status = 'active' THEN
        RETURN NEW;
    END IF;
    IF pg_has_role(current_user, '@operator@'::regrole, 'USAGE') THEN
        IF NEW.approved_by = '' THEN
            RAISE EXCEPTION 'Whoever activates a version signs it.' USING ERRCODE = 'insufficient_privilege';
        END IF;
    ELSIF OLD.status <> 'pending' OR NOT EXISTS (
        SELECT FROM tenants_tenantsettings WHERE tenant_id = NEW.tenant_id AND learning_apply_mode = 'auto') THEN
        RAISE EXCEPTION 'Here a person says yes to what agents learn.' USING ERRCODE = 'insufficient_privilege';
    END IF;
    RETURN NEW;
END $$
"""


class Migration(migrations.Migration):
    """One more state, its moves, and who makes them."""

    dependencies: ClassVar = [("lessons", "0006_walls_of_edit_clusters")]
    operations: ClassVar = [
        migrations.AlterField(
            "learningversion",
            "status",
            models.CharField(
                choices=[
                    ("pending", "Waits for a person"),
                    ("active", "Active"),
                    ("retired", "Retired"),
                    ("rejected", "Rejected"),
                    ("withdrawn", "Withdrawn"),
                ],
                default="pending",
                max_length=10,
            ),
        ),
        RoleSQL(WITHDRAWN),
    ]
