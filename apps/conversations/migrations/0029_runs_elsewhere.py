"""Who runs the agent of a conversation is settled when it opens."""

from typing import ClassVar

from django.db import migrations, models

from apps.governance.database import RoleSQL

RUNNER_STAYS = """
CREATE FUNCTION keep_the_runner() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'Who runs the agent of a conversation is settled when it opens.' USING ERRCODE = 'check_violation';
END $$;
CREATE TRIGGER keep_the_runner BEFORE UPDATE ON conversations_conversation FOR EACH ROW
    WHEN (NEW.runs_elsewhere <> OLD.runs_elsewhere) EXECUTE FUNCTION keep_the_runner();
GRANT SELECT (runs_elsewhere) ON conversations_conversation TO @crossing@
"""


class Migration(migrations.Migration):
    """A column, a constraint, a trigger."""

    dependencies: ClassVar = [
        ("conversations", "0028_by_state"),
    ]
    operations: ClassVar = [
        migrations.AddField(
            model_name="conversation",
            name="runs_elsewhere",
            field=models.BooleanField(
                default=False,
                editable=False,
                help_text="Settled when it opens. On: somebody else runs the agent that answers.",
            ),
        ),
        migrations.AddConstraint(
            model_name="conversation",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("runs_elsewhere", False),
                    models.Q(("member_user_id__isnull", True), ("origin", "live"), ("parent__isnull", True)),
                    _connector="OR",
                ),
                name="what_runs_elsewhere_is_a_customers_own",
            ),
        ),
        RoleSQL(RUNNER_STAYS),
    ]
