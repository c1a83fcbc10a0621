"""A rating is given once."""

from typing import ClassVar

from django.db import migrations

from apps.governance.database import RoleSQL

ONCE = """
CREATE FUNCTION keep_the_rating() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'A conversation is rated once.' USING ERRCODE = 'check_violation';
END $$;
CREATE TRIGGER keep_the_rating BEFORE UPDATE ON conversations_conversation FOR EACH ROW
    WHEN (OLD.rated_at IS NOT NULL AND (NEW.rating IS DISTINCT FROM OLD.rating
        OR NEW.rating_comment <> OLD.rating_comment OR NEW.rated_at IS DISTINCT FROM OLD.rated_at))
    EXECUTE FUNCTION keep_the_rating()
"""


class Migration(migrations.Migration):
    """A trigger."""

    dependencies: ClassVar = [
        ("conversations", "0017_rating"),
    ]
    operations: ClassVar = [RoleSQL(ONCE)]
