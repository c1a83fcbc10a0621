import datetime

import django.db.models.deletion
import django.db.models.expressions
import django.db.models.functions.datetime
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("conversations", "0007_durable_turns"),
        ("runtime", "0003_owners_and_ledger"),
        ("tenants", "0016_keys_are_lower_case"),
    ]

    operations = [
        migrations.CreateModel(
            name="ToolStep",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("round", models.PositiveSmallIntegerField()),
                ("step", models.PositiveSmallIntegerField()),
                ("place", models.PositiveSmallIntegerField()),
                ("fence", models.PositiveIntegerField()),
                ("call_id", models.CharField(max_length=200)),
                ("name", models.CharField(max_length=200)),
                ("arguments", models.JSONField()),
                (
                    "repeats",
                    models.CharField(
                        choices=[("reads", "Reads"), ("keyed", "Keyed"), ("own", "Own"), ("unsafe", "Unsafe")],
                        max_length=10,
                    ),
                ),
                (
                    "state",
                    models.CharField(
                        choices=[("begun", "Begun"), ("done", "Done"), ("unknown", "Unknown")], max_length=10
                    ),
                ),
                ("result", models.TextField(blank=True)),
                ("is_error", models.BooleanField(default=False)),
                ("began_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ("ended_at", models.DateTimeField(null=True)),
            ],
            options={
                "ordering": ["turn_id", "round", "step", "place"],
            },
        ),
        migrations.AlterModelOptions(
            name="modelcall",
            options={"ordering": ["turn_id", "round", "fence", "step"]},
        ),
        migrations.RemoveConstraint(
            model_name="modelcall",
            name="call_has_its_own_step",
        ),
        migrations.RemoveConstraint(
            model_name="turn",
            name="finished_turn_has_a_reply",
        ),
        migrations.AddField(
            model_name="modelcall",
            name="asked",
            field=models.JSONField(null=True),
        ),
        migrations.AddField(
            model_name="modelcall",
            name="round",
            field=models.PositiveSmallIntegerField(default=0),
        ),
        migrations.AddField(
            model_name="modelcall",
            name="said",
            field=models.JSONField(null=True),
        ),
        migrations.AddField(
            model_name="modelcall",
            name="text",
            field=models.TextField(blank=True),
        ),
        migrations.AddField(
            model_name="turn",
            name="asked_at",
            field=models.DateTimeField(null=True),
        ),
        migrations.AddField(
            model_name="turn",
            name="asking_step",
            field=models.PositiveSmallIntegerField(default=1),
        ),
        migrations.AddField(
            model_name="turn",
            name="crashes",
            field=models.PositiveSmallIntegerField(default=0),
        ),
        migrations.AddField(
            model_name="turn",
            name="deadline_at",
            field=models.DateTimeField(
                db_default=django.db.models.expressions.CombinedExpression(
                    django.db.models.functions.datetime.Now(), "+", models.Value(datetime.timedelta(days=1))
                )
            ),
        ),
        migrations.AddField(
            model_name="turn",
            name="is_released",
            field=models.BooleanField(default=False),
        ),
        migrations.AddField(
            model_name="turn",
            name="outcome",
            field=models.CharField(
                blank=True,
                choices=[
                    ("replied", "Replied"),
                    ("drafted", "Drafted"),
                    ("observed", "Observed"),
                    ("escalated", "Escalated"),
                    ("silent", "Silent"),
                ],
                max_length=10,
            ),
        ),
        migrations.AddField(
            model_name="turn",
            name="round",
            field=models.PositiveSmallIntegerField(default=1),
        ),
        migrations.AddField(
            model_name="turn",
            name="run_at",
            field=models.DateTimeField(db_default=django.db.models.functions.datetime.Now()),
        ),
        migrations.AddField(
            model_name="turn",
            name="tries",
            field=models.PositiveSmallIntegerField(default=0),
        ),
        migrations.AlterField(
            model_name="turn",
            name="started_at",
            field=models.DateTimeField(db_default=django.db.models.functions.datetime.Now()),
        ),
        migrations.AlterField(
            model_name="turn",
            name="status",
            field=models.CharField(
                choices=[("running", "Running"), ("done", "Done"), ("failed", "Failed"), ("cancelled", "Cancelled")],
                default="running",
                max_length=10,
            ),
        ),
        migrations.AddConstraint(
            model_name="modelcall",
            constraint=models.UniqueConstraint(
                condition=models.Q(("round__gt", 0)),
                fields=("tenant", "turn", "round", "step"),
                name="step_is_written_once",
            ),
        ),
        migrations.AddConstraint(
            model_name="turn",
            constraint=models.UniqueConstraint(fields=("tenant", "reply"), name="reply_is_of_one_turn"),
        ),
        migrations.AddConstraint(
            model_name="turn",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("status", "done"), _negated=True),
                    ("reply__isnull", False),
                    ("outcome__in", ["drafted", "observed", "escalated", "silent"]),
                    _connector="OR",
                ),
                name="done_turn_says_what_came_of_it",
            ),
        ),
        migrations.AddConstraint(
            model_name="turn",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("outcome", "replied"), _negated=True), ("reply__isnull", False), _connector="OR"
                ),
                name="replied_turn_has_its_reply",
            ),
        ),
        migrations.AddField(
            model_name="toolstep",
            name="tenant",
            field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name="+", to="tenants.tenant"),
        ),
        migrations.AddField(
            model_name="toolstep",
            name="turn",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT, related_name="tool_steps", to="runtime.turn"
            ),
        ),
        migrations.AddConstraint(
            model_name="toolstep",
            constraint=models.UniqueConstraint(
                fields=("tenant", "turn", "round", "step", "place"), name="tool_step_is_written_once"
            ),
        ),
        migrations.AddConstraint(
            model_name="toolstep",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("ended_at__isnull", True), ("state", "begun")),
                    models.Q(models.Q(("state", "begun"), _negated=True), ("ended_at__isnull", False)),
                    _connector="OR",
                ),
                name="ended_tool_step_says_when",
            ),
        ),
        migrations.AddConstraint(
            model_name="toolstep",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("state__in", ["begun", "unknown"]), _negated=True),
                    ("repeats__in", ["keyed", "unsafe", "reads"]),
                    _connector="OR",
                ),
                name="own_write_is_in_the_commit_of_its_step",
            ),
        ),
    ]
