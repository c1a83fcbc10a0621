"""The journal writes less to the server's log of changes: no column and no index that another one already answers for."""

from typing import ClassVar

import django.db.models.deletion
from django.db import migrations, models

from apps.governance.database import RoleSQL

# No other table names a tool step.
UNNAMED = "ALTER TABLE runtime_toolstep DROP CONSTRAINT runtime_toolstep_tenant_row"


class Migration(migrations.Migration):
    """A call's prefix is its session's; keys that a row is born without begin to count when it has them."""

    dependencies: ClassVar = [
        ("conversations", "0027_steps_of_a_run"),
        ("runtime", "0021_spent_on_learning"),
    ]
    operations: ClassVar = [
        RoleSQL(UNNAMED),
        migrations.RemoveConstraint(model_name="modelcall", name="step_is_written_once"),
        migrations.RemoveConstraint(model_name="turn", name="reply_is_of_one_turn"),
        migrations.RemoveField(model_name="modelcall", name="prefix_sha256"),
        migrations.AlterField(
            model_name="modelcall",
            name="turn",
            field=models.ForeignKey(
                db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name="calls", to="runtime.turn"
            ),
        ),
        migrations.AlterField(
            model_name="turn",
            name="session",
            field=models.ForeignKey(
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="turns",
                to="runtime.session",
            ),
        ),
        migrations.AddIndex(
            model_name="turn",
            index=models.Index(
                condition=models.Q(("session__isnull", False)), fields=["session"], name="turn_of_session"
            ),
        ),
        migrations.AddConstraint(
            model_name="modelcall",
            constraint=models.UniqueConstraint(
                models.F("tenant"),
                models.F("turn"),
                models.F("round"),
                models.F("step"),
                models.Case(models.When(round=0, then="fence"), default=0),
                name="step_is_written_once",
            ),
        ),
        migrations.AddConstraint(
            model_name="turn",
            constraint=models.UniqueConstraint(
                condition=models.Q(("reply__isnull", False)), fields=("tenant", "reply"), name="reply_is_of_one_turn"
            ),
        ),
    ]
