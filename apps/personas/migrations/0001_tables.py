import django.core.validators
import django.db.models.deletion
import django_fsm
from django.db import migrations, models

import apps.governance.stored_text
import apps.personas.models
import apps.tenants.models.tenant
from apps.governance.database.migration_operations import TableMigration


class Migration(TableMigration):
    initial = True

    dependencies = [
        ("tenants", "0001_tables"),
    ]

    operations = [
        migrations.CreateModel(
            name="IdentityCard",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "tenant",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="tenants.tenant"
                    ),
                ),
                ("version", models.PositiveIntegerField(default=1, editable=False)),
                (
                    "taint",
                    models.CharField(
                        choices=[
                            ("operator", "Operator"),
                            ("agent", "Agent"),
                            ("tool", "Tool"),
                            ("customer", "Customer"),
                            ("import", "Import"),
                        ],
                        default="operator",
                        editable=False,
                        max_length=20,
                    ),
                ),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("updated_at", models.DateTimeField(auto_now_add=True)),
                (
                    "agent",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="tenants.agent"
                    ),
                ),
                (
                    "line_key",
                    models.CharField(
                        blank=True,
                        help_text="The line this card is for, if somebody else is in charge there. Empty, it is the agent's own card.",
                        max_length=80,
                        validators=[
                            apps.governance.stored_text.validate_storable_text,
                            apps.personas.models.validate_one_line,
                        ],
                    ),
                ),
                (
                    "business_name",
                    models.CharField(
                        blank=True,
                        help_text="The name customers know.",
                        max_length=200,
                        validators=[
                            apps.governance.stored_text.validate_storable_text,
                            apps.personas.models.validate_one_line,
                        ],
                    ),
                ),
                (
                    "assigned_name",
                    models.CharField(
                        blank=True,
                        help_text="The person the agent writes for.",
                        max_length=200,
                        validators=[
                            apps.governance.stored_text.validate_storable_text,
                            apps.personas.models.validate_one_line,
                        ],
                    ),
                ),
                (
                    "assigned_title",
                    models.CharField(
                        blank=True,
                        help_text="What that person does: “Head of support”.",
                        max_length=200,
                        validators=[
                            apps.governance.stored_text.validate_storable_text,
                            apps.personas.models.validate_one_line,
                        ],
                    ),
                ),
                (
                    "hours",
                    models.TextField(
                        blank=True,
                        help_text="When people are there: “Monday to Friday, 9:00 to 18:00”.",
                        validators=[
                            apps.governance.stored_text.validate_storable_text,
                            django.core.validators.MaxLengthValidator(300),
                        ],
                    ),
                ),
                (
                    "timezone",
                    models.CharField(
                        blank=True,
                        help_text="Region and city: Europe/Madrid.",
                        max_length=64,
                        validators=[
                            apps.governance.stored_text.validate_storable_text,
                            apps.tenants.models.tenant.validate_timezone,
                        ],
                    ),
                ),
                (
                    "signature",
                    models.TextField(
                        blank=True,
                        help_text="How messages are signed.",
                        validators=[
                            apps.governance.stored_text.validate_storable_text,
                            django.core.validators.MaxLengthValidator(300),
                        ],
                    ),
                ),
                (
                    "locale",
                    models.CharField(
                        blank=True,
                        help_text="Write a language, and a country if it matters, such as es or es-MX.",
                        max_length=35,
                        validators=[
                            apps.governance.stored_text.validate_storable_text,
                            apps.personas.models.validate_one_line,
                            django.core.validators.RegexValidator(
                                "^[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*\\Z",
                                "Write a language, and a country if it matters, such as es or es-MX.",
                            ),
                        ],
                    ),
                ),
            ],
            options={
                "ordering": ["agent__key", "line_key"],
                "abstract": False,
                "base_manager_name": "objects",
                "constraints": [
                    models.UniqueConstraint(
                        fields=("tenant", "agent", "line_key"),
                        name="agent_has_one_identity_card_per_line",
                        violation_error_message="This agent has an identity card for this line already; amend that one.",
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("line_key", ""), _negated=True),
                        fields=("tenant", "line_key"),
                        name="line_key_belongs_to_one_agent",
                        violation_error_message="This line belongs to another agent. Name another line, or write on that agent's card.",
                    ),
                ],
            },
            bases=(django_fsm.FSMModelMixin, models.Model),
        ),
        migrations.CreateModel(
            name="MemberOverlay",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "tenant",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="tenants.tenant"
                    ),
                ),
                ("version", models.PositiveIntegerField(default=1, editable=False)),
                (
                    "taint",
                    models.CharField(
                        choices=[
                            ("operator", "Operator"),
                            ("agent", "Agent"),
                            ("tool", "Tool"),
                            ("customer", "Customer"),
                            ("import", "Import"),
                        ],
                        default="operator",
                        editable=False,
                        max_length=20,
                    ),
                ),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("updated_at", models.DateTimeField(auto_now_add=True)),
                (
                    "agent",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="tenants.agent"
                    ),
                ),
                ("member_user_id", models.BigIntegerField(editable=False)),
                (
                    "text",
                    models.TextField(
                        blank=True,
                        help_text="How the assistant is to work for you. Empty, there is no overlay.",
                        validators=[
                            apps.governance.stored_text.validate_storable_text,
                            django.core.validators.MaxLengthValidator(2000),
                        ],
                    ),
                ),
                (
                    "pending_text",
                    models.TextField(
                        blank=True,
                        editable=False,
                        validators=[
                            apps.governance.stored_text.validate_storable_text,
                            django.core.validators.MaxLengthValidator(2000),
                        ],
                    ),
                ),
            ],
            options={
                "verbose_name": "overlay of a member",
                "ordering": ["agent__key", "member_user_id"],
                "abstract": False,
                "base_manager_name": "objects",
                "constraints": [
                    models.UniqueConstraint(
                        fields=("tenant", "agent", "member_user_id"),
                        name="member_has_one_overlay_per_assistant",
                        violation_error_message="You have an overlay for this assistant already; amend that one.",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("taint__in", ["operator", "agent"])),
                        name="member_overlay_has_no_customer_text",
                        violation_error_message="What customers wrote enters an overlay only after its member looked at it.",
                    ),
                ],
            },
            bases=(django_fsm.FSMModelMixin, models.Model),
        ),
        migrations.CreateModel(
            name="Persona",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "tenant",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="tenants.tenant"
                    ),
                ),
                ("version", models.PositiveIntegerField(default=1, editable=False)),
                (
                    "taint",
                    models.CharField(
                        choices=[
                            ("operator", "Operator"),
                            ("agent", "Agent"),
                            ("tool", "Tool"),
                            ("customer", "Customer"),
                            ("import", "Import"),
                        ],
                        default="operator",
                        editable=False,
                        max_length=20,
                    ),
                ),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("updated_at", models.DateTimeField(auto_now_add=True)),
                (
                    "agent",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="tenants.agent"
                    ),
                ),
                (
                    "identity",
                    models.TextField(
                        blank=True,
                        help_text="First person: “You are Ada, the support agent for Acme.”",
                        validators=[
                            apps.governance.stored_text.validate_storable_text,
                            django.core.validators.MaxLengthValidator(20000),
                        ],
                    ),
                ),
                (
                    "style",
                    models.TextField(
                        blank=True,
                        help_text="Tone, length, vocabulary.",
                        validators=[
                            apps.governance.stored_text.validate_storable_text,
                            django.core.validators.MaxLengthValidator(20000),
                        ],
                    ),
                ),
                (
                    "avoid",
                    models.TextField(
                        blank=True,
                        help_text="Hard don'ts: compliance and brand.",
                        validators=[
                            apps.governance.stored_text.validate_storable_text,
                            django.core.validators.MaxLengthValidator(20000),
                        ],
                    ),
                ),
                (
                    "defaults",
                    models.TextField(
                        blank=True,
                        help_text="Background assumptions.",
                        validators=[
                            apps.governance.stored_text.validate_storable_text,
                            django.core.validators.MaxLengthValidator(20000),
                        ],
                    ),
                ),
                (
                    "goals",
                    models.TextField(
                        blank=True,
                        help_text="What the agent works towards.",
                        validators=[
                            apps.governance.stored_text.validate_storable_text,
                            django.core.validators.MaxLengthValidator(20000),
                        ],
                    ),
                ),
                (
                    "status",
                    models.CharField(
                        choices=[("active", "Active"), ("archived", "Archived")], default="active", max_length=10
                    ),
                ),
            ],
            options={
                "ordering": ["agent__key"],
                "abstract": False,
                "base_manager_name": "objects",
                "constraints": [
                    models.UniqueConstraint(
                        fields=("tenant", "agent"),
                        name="agent_has_one_persona",
                        violation_error_message="This agent has a persona already; amend that one.",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("status__in", ["active", "archived"])), name="persona_is_active_or_archived"
                    ),
                ],
            },
            bases=(django_fsm.FSMModelMixin, models.Model),
        ),
        migrations.CreateModel(
            name="PersonaOverlay",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "tenant",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="tenants.tenant"
                    ),
                ),
                ("version", models.PositiveIntegerField(default=1, editable=False)),
                (
                    "taint",
                    models.CharField(
                        choices=[
                            ("operator", "Operator"),
                            ("agent", "Agent"),
                            ("tool", "Tool"),
                            ("customer", "Customer"),
                            ("import", "Import"),
                        ],
                        default="operator",
                        editable=False,
                        max_length=20,
                    ),
                ),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("updated_at", models.DateTimeField(auto_now_add=True)),
                (
                    "agent",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="tenants.agent"
                    ),
                ),
                (
                    "text",
                    models.TextField(
                        blank=True,
                        help_text="Adds to the persona and is read after it. Empty, there is no overlay.",
                        validators=[
                            apps.governance.stored_text.validate_storable_text,
                            django.core.validators.MaxLengthValidator(20000),
                        ],
                    ),
                ),
            ],
            options={
                "verbose_name": "overlay",
                "ordering": ["agent__key"],
                "abstract": False,
                "base_manager_name": "objects",
                "constraints": [
                    models.UniqueConstraint(
                        fields=("tenant", "agent"),
                        name="agent_has_one_overlay",
                        violation_error_message="This agent has an overlay already; amend that one.",
                    )
                ],
            },
            bases=(django_fsm.FSMModelMixin, models.Model),
        ),
        migrations.CreateModel(
            name="StandingRule",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "tenant",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="tenants.tenant"
                    ),
                ),
                ("version", models.PositiveIntegerField(default=1, editable=False)),
                (
                    "taint",
                    models.CharField(
                        choices=[
                            ("operator", "Operator"),
                            ("agent", "Agent"),
                            ("tool", "Tool"),
                            ("customer", "Customer"),
                            ("import", "Import"),
                        ],
                        default="operator",
                        editable=False,
                        max_length=20,
                    ),
                ),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("updated_at", models.DateTimeField(auto_now_add=True)),
                (
                    "agent",
                    models.ForeignKey(
                        blank=True,
                        help_text="Leave this open for a rule of the whole organisation.",
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="tenants.agent",
                    ),
                ),
                (
                    "text",
                    models.TextField(
                        help_text="One rule, as an instruction: “Never name a competitor.”",
                        validators=[
                            apps.governance.stored_text.validate_storable_text,
                            apps.personas.models.validate_not_blank,
                            django.core.validators.MaxLengthValidator(2000),
                        ],
                    ),
                ),
                (
                    "position",
                    models.PositiveIntegerField(default=0, help_text="Lower numbers come first; equal ones by age."),
                ),
                (
                    "status",
                    models.CharField(
                        choices=[("active", "Active"), ("retired", "Retired")], default="active", max_length=10
                    ),
                ),
            ],
            options={
                "verbose_name": "rule",
                "ordering": [models.OrderBy(models.F("agent__key"), nulls_first=True), "position", "pk"],
                "abstract": False,
                "base_manager_name": "objects",
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("status__in", ["active", "retired"])), name="rule_is_active_or_retired"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("text", ""), _negated=True), name="rule_text_is_not_empty"
                    ),
                ],
            },
            bases=(django_fsm.FSMModelMixin, models.Model),
        ),
    ]
