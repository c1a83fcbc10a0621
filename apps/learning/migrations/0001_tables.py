import django.db.models.deletion
import django.db.models.functions.datetime
from django.db import migrations, models

from apps.governance.database import TableMigration


class Migration(TableMigration):
    initial = True

    dependencies = [
        ("conversations", "0001_tables"),
        ("lessons", "0001_tables"),
        ("skills", "0001_tables"),
        ("tenants", "0001_tables"),
    ]

    operations = [
        migrations.CreateModel(
            name="DigestClaim",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "tenant",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="tenants.tenant"
                    ),
                ),
                (
                    "agent",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="tenants.agent"
                    ),
                ),
                ("lease_until", models.DateTimeField()),
                ("claimed_at", models.DateTimeField()),
                (
                    "read_at",
                    models.DateTimeField(help_text="What was noted before this was in a digest that ended.", null=True),
                ),
                ("next_look_at", models.DateTimeField()),
                (
                    "failures",
                    models.PositiveIntegerField(default=0, help_text="Calls of the model that failed in a row."),
                ),
                ("failure", models.CharField(blank=True, help_text="The code of the latest failure.", max_length=40)),
            ],
        ),
        migrations.CreateModel(
            name="ExtractionClaim",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "tenant",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="tenants.tenant"
                    ),
                ),
                (
                    "conversation",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="conversations.conversation"
                    ),
                ),
                ("lease_until", models.DateTimeField()),
                ("next_look_at", models.DateTimeField()),
                (
                    "failures",
                    models.PositiveIntegerField(default=0, help_text="Calls of the model that failed over it."),
                ),
                ("failure", models.CharField(blank=True, help_text="The code of the latest failure.", max_length=40)),
            ],
        ),
        migrations.CreateModel(
            name="DigestRun",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "tenant",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="tenants.tenant"
                    ),
                ),
                (
                    "agent",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="tenants.agent"
                    ),
                ),
                (
                    "verdict",
                    models.CharField(
                        choices=[
                            ("proposed", "A version waits for a person"),
                            ("applied", "A version is read at once"),
                            ("refused", "The answer broke a rule"),
                            ("malformed", "The answer was unusable"),
                            ("failed", "The model refused the request"),
                        ],
                        max_length=10,
                    ),
                ),
                ("reasons", models.JSONField(default=list, help_text="Why nothing came of it, one sentence each.")),
                ("lesson_ids", models.JSONField(default=list, help_text="The lessons it was given.")),
                ("made_up_ids", models.JSONField(default=list, help_text="Ids of lessons that the answer made up.")),
                (
                    "learning_version",
                    models.ForeignKey(
                        db_constraint=False,
                        null=True,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="lessons.learningversion",
                    ),
                ),
                ("model", models.CharField(blank=True, max_length=80)),
                ("stand_in", models.BooleanField(default=False)),
                ("input_tokens", models.PositiveIntegerField(default=0)),
                ("output_tokens", models.PositiveIntegerField(default=0)),
                (
                    "cost_micro_usd",
                    models.PositiveBigIntegerField(
                        help_text="Empty: no price is known, or the stand-in answered.", null=True
                    ),
                ),
                ("at", models.DateTimeField(auto_now_add=True)),
            ],
            options={
                "ordering": ["-id"],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("learning_version__isnull", False), ("verdict__in", ["proposed", "applied"])),
                            models.Q(
                                models.Q(("verdict__in", ["proposed", "applied"]), _negated=True),
                                ("learning_version__isnull", True),
                            ),
                            _connector="OR",
                        ),
                        name="digest_names_its_version_or_has_none",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Extraction",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "tenant",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="tenants.tenant"
                    ),
                ),
                (
                    "agent",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="tenants.agent"
                    ),
                ),
                (
                    "conversation",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="extraction",
                        to="conversations.conversation",
                    ),
                ),
                (
                    "verdict",
                    models.CharField(
                        choices=[
                            ("drafted", "Drafted a skill"),
                            ("too-short", "Too short"),
                            ("trivial", "Trivial: no tool was needed"),
                            ("negative", "Not solved"),
                            ("nothing", "The model found nothing to learn"),
                            ("supports", "Adds to a draft that says the same"),
                            ("known", "The agent has such a skill"),
                            ("malformed", "The model's answer was unusable"),
                            ("refused", "The draft broke a rule"),
                            ("failed", "The model refused the request"),
                            ("off-record", "Off the record"),
                            ("switched-off", "Learning is off for this agent"),
                        ],
                        max_length=12,
                    ),
                ),
                ("reason", models.TextField()),
                (
                    "skill",
                    models.ForeignKey(
                        db_constraint=False,
                        null=True,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="extractions",
                        to="skills.skill",
                    ),
                ),
                ("tools", models.JSONField(blank=True, default=list, help_text="What the procedure calls, by name.")),
                (
                    "masked",
                    models.JSONField(
                        blank=True, default=dict, help_text="How often what of each kind was masked in the draft."
                    ),
                ),
                ("model", models.CharField(blank=True, max_length=80)),
                ("stand_in", models.BooleanField(default=False)),
                ("input_tokens", models.PositiveIntegerField(default=0)),
                ("output_tokens", models.PositiveIntegerField(default=0)),
                (
                    "cost_micro_usd",
                    models.PositiveBigIntegerField(
                        help_text="Empty: no price is known, or the stand-in answered.", null=True
                    ),
                ),
                ("at", models.DateTimeField(auto_now_add=True)),
            ],
            options={
                "ordering": ["-id"],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("verdict", "drafted"), _negated=True), ("skill__isnull", False), _connector="OR"
                        ),
                        name="drafting_extraction_names_its_skill",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Reflection",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "tenant",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="tenants.tenant"
                    ),
                ),
                (
                    "agent",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="tenants.agent"
                    ),
                ),
                ("day", models.DateField(help_text="By the tenant's clock, from eleven in the evening before.")),
                (
                    "verdict",
                    models.CharField(
                        choices=[
                            ("waiting", "Not settled yet"),
                            ("drafted", "Drafted something for a person"),
                            ("quiet", "No conversation to learn from"),
                            ("nothing", "The model found nothing to learn"),
                            ("known", "The agent has it already"),
                            ("malformed", "The model's answer was unusable"),
                            ("refused", "The drafts broke a rule"),
                            ("failed", "The model failed over it"),
                        ],
                        default="waiting",
                        max_length=12,
                    ),
                ),
                ("reason", models.TextField(blank=True)),
                (
                    "conversations",
                    models.JSONField(blank=True, default=list, help_text="The ids of those that were read."),
                ),
                ("skills", models.JSONField(blank=True, default=list, help_text="The ids of the drafts it made.")),
                (
                    "proposals",
                    models.JSONField(
                        blank=True,
                        db_default=models.Value([], models.JSONField()),
                        default=list,
                        help_text="The ids of the proposals that bring what it would remember before a person.",
                    ),
                ),
                ("model", models.CharField(blank=True, max_length=80)),
                ("stand_in", models.BooleanField(default=False)),
                ("input_tokens", models.PositiveIntegerField(default=0)),
                ("output_tokens", models.PositiveIntegerField(default=0)),
                (
                    "cost_micro_usd",
                    models.PositiveBigIntegerField(
                        help_text="Empty: no price is known, or the stand-in answered.", null=True
                    ),
                ),
                ("at", models.DateTimeField(auto_now_add=True)),
                ("lease_until", models.DateTimeField()),
                ("next_look_at", models.DateTimeField()),
                (
                    "failures",
                    models.PositiveIntegerField(default=0, help_text="Calls of the model that failed over it."),
                ),
            ],
            options={
                "ordering": ["-id"],
                "constraints": [
                    models.UniqueConstraint(fields=("tenant", "agent", "day"), name="agent_reflects_once_on_a_day"),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("verdict", "waiting"), models.Q(("reason", ""), _negated=True), _connector="OR"
                        ),
                        name="settled_reflection_says_why",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="TierClock",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "tenant",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="tenants.tenant"
                    ),
                ),
                (
                    "agent",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="tenants.agent"
                    ),
                ),
                (
                    "tier",
                    models.CharField(
                        choices=[
                            ("short", "Short: the recent days"),
                            ("mid", "Mid: what lasts for weeks"),
                            ("long", "Long: what lasts"),
                        ],
                        max_length=5,
                    ),
                ),
                ("next_run_at", models.DateTimeField()),
                ("lease_until", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                (
                    "failures",
                    models.PositiveIntegerField(
                        default=0, help_text="Calls of the model that failed since the last run."
                    ),
                ),
                ("asked_by", models.CharField(blank=True, help_text="Who wants it beside its plan.", max_length=200)),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("tenant", "agent", "tier"), name="tier_has_one_clock")],
            },
        ),
        migrations.CreateModel(
            name="TierRun",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "tenant",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="tenants.tenant"
                    ),
                ),
                (
                    "agent",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="tenants.agent"
                    ),
                ),
                (
                    "tier",
                    models.CharField(
                        choices=[
                            ("short", "Short: the recent days"),
                            ("mid", "Mid: what lasts for weeks"),
                            ("long", "Long: what lasts"),
                        ],
                        max_length=5,
                    ),
                ),
                (
                    "verdict",
                    models.CharField(
                        choices=[
                            ("stored", "Stored"),
                            ("held", "Waits for a person"),
                            ("nothing", "Nothing new"),
                            ("refused", "Refused: it would drop or make up too much"),
                            ("malformed", "The model's answer was unusable"),
                            ("failed", "The model could not be asked"),
                        ],
                        max_length=10,
                    ),
                ),
                ("reasons", models.JSONField(blank=True, default=list)),
                (
                    "proposed",
                    models.JSONField(blank=True, default=list, help_text="The facts of a rewrite that was refused."),
                ),
                ("facts_before", models.PositiveIntegerField(default=0)),
                ("facts_after", models.PositiveIntegerField(default=0)),
                ("asked_by", models.CharField(blank=True, max_length=200)),
                ("model", models.CharField(blank=True, max_length=80)),
                ("stand_in", models.BooleanField(default=False)),
                ("input_tokens", models.PositiveIntegerField(default=0)),
                ("output_tokens", models.PositiveIntegerField(default=0)),
                (
                    "cost_micro_usd",
                    models.PositiveBigIntegerField(
                        help_text="Empty: no price is known, or the stand-in answered.", null=True
                    ),
                ),
                ("at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
            ],
            options={
                "ordering": ["-id"],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            ("verdict__in", ["stored", "held", "nothing"]),
                            models.Q(("reasons", []), _negated=True),
                            _connector="OR",
                        ),
                        name="run_without_a_result_says_why",
                    )
                ],
            },
        ),
    ]
