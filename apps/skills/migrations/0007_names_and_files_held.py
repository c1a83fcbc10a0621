"""Names tell skills and files apart, quarantine holds files too, and a draft keeps the mark of whose words went into it."""

from typing import ClassVar

from django.db import migrations, models

from apps.governance.database import RoleSQL
from apps.skills.rules import NAME_PATTERN, NAME_RULE

HELD = """
CREATE OR REPLACE FUNCTION keep_quarantined() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    -- All the rest is what was held: words, files, state, owner and signatures.
    released CONSTANT text[] := ARRAY['quarantined_at', 'quarantined_by', 'quarantine_reason', 'version', 'updated_at'];
BEGIN
    IF TG_OP = 'UPDATE' AND NEW.quarantined_at IS NULL AND to_jsonb(NEW) - released = to_jsonb(OLD) - released THEN
        RETURN NEW;
    END IF;
    RAISE EXCEPTION 'This skill is in quarantine (%). Release it before you decide on it.', OLD.quarantine_reason
        USING ERRCODE = 'check_violation';
END $$;
CREATE FUNCTION keep_file_names_apart() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF (SELECT count(DISTINCT lower(normalize(value ->> 'name', NFKC))) FROM jsonb_array_elements(NEW.attachments))
        < jsonb_array_length(NEW.attachments) THEN
        RAISE EXCEPTION 'Two files of a skill are not called alike.' USING ERRCODE = 'check_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER keep_names_apart BEFORE INSERT OR UPDATE OF attachments ON skills_skill
    FOR EACH ROW WHEN (jsonb_typeof(NEW.attachments) = 'array') EXECUTE FUNCTION keep_file_names_apart();
CREATE FUNCTION keep_whose_words() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    joined CONSTANT text[] := ARRAY['operator', 'agent', 'tool-derived', 'customer-derived', 'imported'];
BEGIN
    IF pg_has_role(current_user, '@agent@'::regrole, 'USAGE')
        AND NOT pg_has_role(current_user, '@operator@'::regrole, 'USAGE')
        AND array_position(joined, NEW.taint::text) < array_position(joined, OLD.taint::text) THEN
        RAISE EXCEPTION 'Whose words went into a draft, an agent does not take back.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER keep_whose_words BEFORE UPDATE OF taint ON skills_skill
    FOR EACH ROW EXECUTE FUNCTION keep_whose_words();
GRANT UPDATE (taint) ON skills_skill TO @agent@
"""


class Migration(migrations.Migration):
    """A check and two functions of triggers."""

    dependencies: ClassVar = [
        ("skills", "0006_quarantine"),
    ]
    operations: ClassVar = [
        migrations.AddConstraint(
            "skill",
            models.CheckConstraint(
                condition=models.Q(name__regex=NAME_PATTERN),
                name="skill_name_is_lower_case",
                violation_error_message=NAME_RULE,
            ),
        ),
        RoleSQL(HELD),
    ]
