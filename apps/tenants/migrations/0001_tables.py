import django.contrib.auth.models
import django.contrib.auth.validators
import django.core.validators
import django.db.models.deletion
import django.db.models.functions.datetime
import django.db.models.functions.text
import django.utils.timezone
import django_fsm
from django.conf import settings
from django.db import migrations, models

import apps.governance.stored_text
import apps.tenants.delay_notices
import apps.tenants.models.endpoints
import apps.tenants.models.tenant
from apps.governance.database.migration_operations import TableMigration
from apps.governance.policy.policy_table import permissions


class Migration(TableMigration):
    initial = True

    dependencies = [
        ("auth", "0012_alter_user_first_name_max_length"),
    ]

    operations = [
        migrations.CreateModel(
            name="User",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("password", models.CharField(max_length=128, verbose_name="password")),
                ("last_login", models.DateTimeField(blank=True, null=True, verbose_name="last login")),
                (
                    "is_superuser",
                    models.BooleanField(
                        default=False,
                        help_text="Designates that this user has all permissions without explicitly assigning them.",
                        verbose_name="superuser status",
                    ),
                ),
                (
                    "username",
                    models.CharField(
                        error_messages={"unique": "A user with that username already exists."},
                        help_text="Required. 150 characters or fewer. Letters, digits and @/./+/-/_ only.",
                        max_length=150,
                        unique=True,
                        validators=[django.contrib.auth.validators.UnicodeUsernameValidator()],
                        verbose_name="username",
                    ),
                ),
                ("first_name", models.CharField(blank=True, max_length=150, verbose_name="first name")),
                ("last_name", models.CharField(blank=True, max_length=150, verbose_name="last name")),
                ("email", models.EmailField(blank=True, max_length=254, verbose_name="email address")),
                (
                    "is_staff",
                    models.BooleanField(
                        default=False,
                        help_text="Designates whether the user can log into this admin site.",
                        verbose_name="staff status",
                    ),
                ),
                (
                    "is_active",
                    models.BooleanField(
                        default=True,
                        help_text="Designates whether this user should be treated as active. Unselect this instead of deleting accounts.",
                        verbose_name="active",
                    ),
                ),
                ("date_joined", models.DateTimeField(default=django.utils.timezone.now, verbose_name="date joined")),
                ("is_service", models.BooleanField(default=False, editable=False)),
                ("session_generation", models.PositiveIntegerField(default=0, editable=False)),
                ("email_verified_at", models.DateTimeField(blank=True, editable=False, null=True)),
                ("account_claimed_at", models.DateTimeField(blank=True, editable=False, null=True)),
                (
                    "second_factor_enabled_at",
                    models.DateTimeField(blank=True, editable=False, null=True, verbose_name="second factor"),
                ),
                (
                    "groups",
                    models.ManyToManyField(
                        blank=True,
                        help_text="The groups this user belongs to. A user will get all permissions granted to each of their groups.",
                        related_name="user_set",
                        related_query_name="user",
                        to="auth.group",
                        verbose_name="groups",
                    ),
                ),
                (
                    "user_permissions",
                    models.ManyToManyField(
                        blank=True,
                        help_text="Specific permissions for this user.",
                        related_name="user_set",
                        related_query_name="user",
                        to="auth.permission",
                        verbose_name="user permissions",
                    ),
                ),
            ],
            options={
                "verbose_name": "user",
                "verbose_name_plural": "users",
                "abstract": False,
                "constraints": [
                    models.UniqueConstraint(
                        django.db.models.functions.text.Lower("username"),
                        name="username_is_unique_ignoring_case",
                        violation_error_message="There is a person of this name already.",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("is_service", False),
                            models.Q(("is_staff", False), ("is_superuser", False)),
                            _connector="OR",
                        ),
                        name="service_user_is_neither_staff_nor_superuser",
                        violation_error_message="An agent's service user may be neither staff nor superuser.",
                    ),
                ],
            },
            managers=[
                ("objects", django.contrib.auth.models.UserManager()),
            ],
        ),
        migrations.CreateModel(
            name="Endpoint",
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
                    "key",
                    models.CharField(
                        max_length=40,
                        validators=[
                            django.core.validators.RegexValidator(
                                "^[a-z0-9]+(?:-[a-z0-9]+)*\\Z", "Use lower-case letters, digits and single hyphens."
                            )
                        ],
                    ),
                ),
                (
                    "title",
                    models.CharField(max_length=120, validators=[apps.governance.stored_text.validate_storable_text]),
                ),
                (
                    "base_url",
                    models.CharField(
                        help_text="Such as https://models.example. Another host, port or scheme deletes the key. Enter it again then.",
                        max_length=300,
                        validators=[
                            apps.governance.stored_text.validate_storable_text,
                            apps.tenants.models.endpoints.validate_reachable_url,
                        ],
                        verbose_name="address",
                    ),
                ),
                (
                    "secret",
                    models.ForeignKey(
                        editable=False,
                        null=True,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="tenants.sealedsecret",
                    ),
                ),
            ],
            options={
                "ordering": ["key"],
                "abstract": False,
                "base_manager_name": "objects",
                "constraints": [
                    models.UniqueConstraint(
                        fields=("tenant", "key"),
                        name="endpoint_key_is_unique_in_tenant",
                        violation_error_message="There is an endpoint with this key in the tenant already. Choose another key.",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("key__regex", "^[a-z0-9]+(?:-[a-z0-9]+)*\\Z")),
                        name="endpoint_key_is_lower_case",
                    ),
                ],
            },
            bases=(django_fsm.FSMModelMixin, models.Model),
        ),
        migrations.CreateModel(
            name="RoleTemplate",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "role",
                    models.CharField(
                        choices=[
                            ("operator", "operator"),
                            ("admin", "admin"),
                            ("agent", "agent"),
                            ("system", "system"),
                            ("staff", "staff"),
                        ],
                        max_length=20,
                        unique=True,
                    ),
                ),
            ],
            options={
                "permissions": permissions(),
            },
        ),
        migrations.CreateModel(
            name="SealedSecret",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "tenant",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="tenants.tenant"
                    ),
                ),
                ("ciphertext", models.TextField()),
                ("created_at", models.DateTimeField(auto_now_add=True)),
            ],
        ),
        migrations.CreateModel(
            name="SecondFactor",
            fields=[
                (
                    "user",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="+",
                        serialize=False,
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                ("ciphertext", models.TextField()),
                (
                    "last_step",
                    models.BigIntegerField(
                        help_text="In steps of thirty seconds since 1970. The code of this step or an earlier one is not accepted."
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="AccountEvent",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "user",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("password_set", "The password was changed"),
                            ("credentials_reset", "The password was invalidated and every session ended"),
                            ("factor_set", "A second factor was set up"),
                            ("factor_dropped", "The second factor was removed"),
                            ("codes_renewed", "New recovery codes were made"),
                            ("code_used", "A recovery code was used"),
                            ("signed_out", "Other browsers were signed out"),
                        ],
                        max_length=20,
                    ),
                ),
                (
                    "ip_address",
                    models.CharField(blank=True, help_text="Empty: an admin did it, not the person.", max_length=45),
                ),
                ("created_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
            ],
            options={
                "ordering": ["-id"],
                "indexes": [models.Index(fields=["user", "-id"], name="account_event_of_person")],
            },
        ),
        migrations.CreateModel(
            name="Agent",
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
                    "is_memory_distilled",
                    models.BooleanField(
                        default=False,
                        help_text="On: results of its conversations become part of its memory on a schedule, without anybody's own words.",
                        verbose_name="memory is distilled",
                    ),
                ),
                (
                    "is_short_tier_distilled",
                    models.BooleanField(
                        default=True, help_text="Every night, without a model.", verbose_name="short tier"
                    ),
                ),
                (
                    "is_mid_tier_distilled",
                    models.BooleanField(default=True, help_text="Every week.", verbose_name="mid tier"),
                ),
                (
                    "is_long_tier_distilled",
                    models.BooleanField(
                        default=False,
                        help_text="Every month. Its first run waits for a person.",
                        verbose_name="long tier",
                    ),
                ),
                (
                    "distil_model_mid",
                    models.CharField(
                        blank=True,
                        help_text="Empty: the agent's own.",
                        max_length=80,
                        verbose_name="model of the mid tier",
                    ),
                ),
                (
                    "distil_model_long",
                    models.CharField(
                        blank=True,
                        help_text="Empty: the agent's own.",
                        max_length=80,
                        verbose_name="model of the long tier",
                    ),
                ),
                (
                    "distil_endpoint_mid",
                    models.ForeignKey(
                        blank=True,
                        db_index=False,
                        help_text="Where the model of the mid tier is reached. Empty: where the installation says.",
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="tenants.endpoint",
                        verbose_name="endpoint of the mid tier",
                    ),
                ),
                (
                    "distil_endpoint_long",
                    models.ForeignKey(
                        blank=True,
                        db_index=False,
                        help_text="Where the model of the long tier is reached. Empty: where the installation says.",
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="tenants.endpoint",
                        verbose_name="endpoint of the long tier",
                    ),
                ),
                (
                    "has_reflection",
                    models.BooleanField(
                        default=False,
                        help_text="On: at 23:00 in the tenant's time zone the day's conversations are read together. The lessons wait as drafts.",
                        verbose_name="reflects on its day",
                    ),
                ),
                (
                    "has_notebook",
                    models.BooleanField(
                        default=False,
                        help_text="On: the agent notes reminders, tasks and scratch for later, and its sessions carry the open ones.",
                        verbose_name="keeps a notebook",
                    ),
                ),
                (
                    "has_examples",
                    models.BooleanField(
                        default=False,
                        help_text="On: for a customer with few corrections, the prompt has up to three examples that people kept, without personal data.",
                        verbose_name="is shown examples",
                    ),
                ),
                (
                    "key",
                    models.CharField(
                        max_length=40,
                        validators=[
                            django.core.validators.RegexValidator(
                                "^[a-z0-9]+(?:-[a-z0-9]+)*\\Z", "Use lower-case letters, digits and single hyphens."
                            )
                        ],
                    ),
                ),
                ("title", models.CharField(max_length=120)),
                (
                    "service_user",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT, related_name="agent", to=settings.AUTH_USER_MODEL
                    ),
                ),
                (
                    "model",
                    models.CharField(blank=True, help_text="Empty: the installation's default model.", max_length=80),
                ),
                (
                    "fallback_model",
                    models.CharField(
                        blank=True,
                        help_text="Used instead while calls of the model are paused because they fail. Empty: customers wait.",
                        max_length=80,
                    ),
                ),
                (
                    "endpoint",
                    models.ForeignKey(
                        blank=True,
                        help_text="Where the model is reached. Empty: where the installation says.",
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="agents",
                        to="tenants.endpoint",
                    ),
                ),
                (
                    "contract",
                    models.TextField(
                        blank=True,
                        help_text="Replaces the operating contract of slot 2. Empty: the one that ships with the product.",
                        validators=[
                            apps.governance.stored_text.validate_storable_text,
                            django.core.validators.MaxLengthValidator(20000),
                        ],
                    ),
                ),
                (
                    "has_learning",
                    models.BooleanField(
                        default=True,
                        help_text="Off: the agent uses the default prompt, without memory, skills or lessons.",
                    ),
                ),
                (
                    "session_idle_seconds",
                    models.PositiveIntegerField(blank=True, help_text="Empty: 1800 seconds.", null=True),
                ),
                (
                    "sessions_ended_at",
                    models.DateTimeField(
                        editable=False,
                        help_text="Sessions that began before it are over with their next turn.",
                        null=True,
                    ),
                ),
                (
                    "max_session_age_seconds",
                    models.PositiveIntegerField(
                        blank=True,
                        help_text="A session older than this ends even while messages keep coming. Empty: only silence ends it.",
                        null=True,
                        validators=[django.core.validators.MinValueValidator(1)],
                        verbose_name="longest session, in seconds",
                    ),
                ),
                (
                    "max_steps",
                    models.PositiveSmallIntegerField(
                        default=8,
                        validators=[
                            django.core.validators.MinValueValidator(1),
                            django.core.validators.MaxValueValidator(40),
                        ],
                    ),
                ),
                (
                    "flavour",
                    models.CharField(
                        choices=[
                            ("domain", "Domain: talks to customers for the business"),
                            ("assistant", "Assistant: works for a member of it"),
                        ],
                        default="domain",
                        help_text="Whom the agent serves; it decides how the operating contract begins.",
                        max_length=10,
                    ),
                ),
                (
                    "context_tier",
                    models.PositiveSmallIntegerField(
                        choices=[
                            (1, "1: identity alone"),
                            (2, "2: with style, customer, recent memory and reminders"),
                            (3, "3: with long memory too"),
                            (4, "4: with scratch notes and tasks too"),
                        ],
                        default=2,
                        help_text="How much context a session carries. More is better informed, slower and more expensive. Rules are in every tier.",
                    ),
                ),
                (
                    "skill_index",
                    models.CharField(
                        choices=[
                            ("lazy", "Lazy: one line each, read when needed"),
                            ("full", "Full: every approved skill whole"),
                        ],
                        default="lazy",
                        help_text="How approved skills appear in the prompt.",
                        max_length=10,
                    ),
                ),
                (
                    "has_current_time",
                    models.BooleanField(
                        default=True,
                        help_text="Off: the agent is not told the date and the time.",
                        verbose_name="knows the date and time",
                    ),
                ),
                (
                    "send_mode",
                    models.CharField(
                        choices=[
                            ("autonomous", "Autonomous: it is sent at once"),
                            ("suggest", "Suggest: a person sends it"),
                            ("observe", "Observe: nothing is sent"),
                        ],
                        default="autonomous",
                        help_text="Where no send rule says otherwise.",
                        max_length=10,
                        verbose_name="send mode",
                    ),
                ),
                (
                    "debounce_seconds",
                    models.PositiveSmallIntegerField(
                        default=0,
                        help_text="Messages within this many seconds of the first one are answered together with it. 0: at once.",
                        validators=[django.core.validators.MaxValueValidator(60)],
                        verbose_name="wait for the rest of a burst, in seconds",
                    ),
                ),
                (
                    "mid_turn_message_mode",
                    models.CharField(
                        choices=[
                            ("queue", "Queue: it is answered after the reply"),
                            ("restart", "Restart: the turn begins anew with both"),
                        ],
                        default="queue",
                        help_text="A turn restarts at most three times, and only while nothing was sent, written or called externally.",
                        max_length=10,
                        verbose_name="a message while it thinks",
                    ),
                ),
                (
                    "may_propose_schedules",
                    models.BooleanField(
                        default=False,
                        help_text="On: the agent may draft schedules by which it starts by itself. Drafts wait for a person.",
                        verbose_name="may propose schedules",
                    ),
                ),
                (
                    "may_show_tables_and_charts",
                    models.BooleanField(
                        default=False,
                        help_text="On: the agent may add them to a reply, as data that the channel draws. Not for SMS or voice.",
                        verbose_name="may show tables and charts",
                    ),
                ),
                (
                    "may_edit_memory",
                    models.BooleanField(
                        default=False,
                        help_text="On: the agent reads and changes its memory, its blocks and the customer's profile line by line.",
                        verbose_name="may edit memory line by line",
                    ),
                ),
                (
                    "may_edit_skills",
                    models.BooleanField(
                        default=False,
                        help_text="On: the agent may view, change and delete its own drafts. Changes of approved skills wait for a person.",
                        verbose_name="may edit its skills",
                    ),
                ),
                (
                    "turn_budget_micro_usd",
                    models.PositiveBigIntegerField(
                        blank=True,
                        help_text="50000 is five cents. A turn that has spent its budget must answer with what it knows. Empty: no budget.",
                        null=True,
                        validators=[django.core.validators.MinValueValidator(1)],
                        verbose_name="budget of a turn, in millionths of a US dollar",
                    ),
                ),
                (
                    "delay_notice",
                    models.TextField(
                        blank=True,
                        default="Thank you for your message. We cannot answer it right now. We will reply as soon as we can.",
                        help_text="Sent once for each delayed answer, in send modes autonomous and suggest. Empty: customers get no message.",
                        validators=[
                            apps.governance.stored_text.validate_storable_text,
                            django.core.validators.MaxLengthValidator(1000),
                        ],
                        verbose_name="message to customers while the day's budget is spent",
                    ),
                ),
                (
                    "channel_delay_notices",
                    models.TextField(
                        blank=True,
                        help_text="One line for each channel, such as “sms: We reply tomorrow.” A line “voice:” sends nothing on that channel.",
                        validators=[
                            apps.governance.stored_text.validate_storable_text,
                            django.core.validators.MaxLengthValidator(5000),
                            apps.tenants.delay_notices.validate_channel_notices,
                        ],
                        verbose_name="the same message for single channels",
                    ),
                ),
            ],
            options={
                "ordering": ["key"],
                "permissions": permissions(),
                "abstract": False,
                "base_manager_name": "objects",
                "constraints": [
                    models.UniqueConstraint(
                        fields=("tenant", "key"),
                        name="agent_key_is_unique_in_tenant",
                        violation_error_message="There is an agent with this key in the tenant already.",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("key__regex", "^[a-z0-9]+(?:-[a-z0-9]+)*\\Z")),
                        name="agent_key_is_lower_case",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("max_steps__range", (1, 40))), name="agent_takes_1_to_40_steps"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("context_tier__in", (1, 2, 3, 4))),
                        name="agent_has_a_context_tier_from_1_to_4",
                        violation_error_message="The context tier must be from 1 to 4.",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("send_mode__in", ["autonomous", "suggest", "observe"])),
                        name="agent_has_a_known_send_mode",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("max_session_age_seconds__isnull", True),
                            ("max_session_age_seconds__gt", 0),
                            _connector="OR",
                        ),
                        name="longest_session_lasts_at_least_a_second",
                        violation_error_message="Enter at least 1 second: a session of 0 seconds could never be used.",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("mid_turn_message_mode__in", ["queue", "restart"])),
                        name="agent_has_a_known_mid_turn_message_mode",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("debounce_seconds__lte", 60)),
                        name="debounce_takes_a_minute_at_most",
                        violation_error_message="The rest of a burst is waited for 60 seconds at most.",
                    ),
                ],
            },
            bases=(django_fsm.FSMModelMixin, models.Model),
        ),
        migrations.CreateModel(
            name="AgentGrants",
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
                        on_delete=django.db.models.deletion.PROTECT, related_name="role_grants", to="tenants.agent"
                    ),
                ),
                (
                    "role",
                    models.CharField(choices=[("operator", "Operators"), ("agent", "The agent itself")], max_length=20),
                ),
                ("permissions", models.JSONField(blank=True, default=list)),
            ],
            options={
                "verbose_name": "grants on an agent",
                "verbose_name_plural": "grants on agents",
                "ordering": ["agent", "role"],
                "abstract": False,
                "base_manager_name": "objects",
                "constraints": [
                    models.UniqueConstraint(
                        fields=("tenant", "agent", "role"),
                        name="agent_has_one_row_of_grants_per_role",
                        violation_error_message="This role has grants of its own on that agent already. Change those.",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("role__in", ["operator", "agent"])),
                        name="grants_differ_for_operators_and_agents_only",
                        violation_error_message="Only operators and the agent itself have grants on an agent. Admins have all.",
                    ),
                ],
            },
            bases=(django_fsm.FSMModelMixin, models.Model),
        ),
        migrations.CreateModel(
            name="BrowserSession",
            fields=[
                (
                    "session_key",
                    models.CharField(max_length=40, primary_key=True, serialize=False, verbose_name="session key"),
                ),
                ("session_data", models.TextField(verbose_name="session data")),
                ("expire_date", models.DateTimeField(db_index=True, verbose_name="expire date")),
                (
                    "user",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                ("created_at", models.DateTimeField(null=True)),
                ("last_seen_at", models.DateTimeField(null=True)),
                ("device", models.CharField(default="", max_length=200)),
                ("ip_address", models.CharField(default="", max_length=45)),
            ],
            options={
                "verbose_name": "session",
                "verbose_name_plural": "sessions",
                "abstract": False,
            },
        ),
        migrations.CreateModel(
            name="RecoveryCode",
            fields=[
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
                ("digest", models.CharField(max_length=64, primary_key=True, serialize=False)),
            ],
        ),
        migrations.CreateModel(
            name="RoleTemplateGroupObjectPermission",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("permission", models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to="auth.permission")),
                ("group", models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to="auth.group")),
                (
                    "content_object",
                    models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to="tenants.roletemplate"),
                ),
            ],
            options={
                "abstract": False,
                "unique_together": {("group", "permission", "content_object")},
            },
        ),
        migrations.CreateModel(
            name="SignInAttempts",
            fields=[
                ("subject", models.CharField(max_length=64, primary_key=True, serialize=False)),
                ("attempts", models.FloatField(help_text="Not an integer, because attempts decay over time.")),
                ("last_attempt_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ("refused_until", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
            ],
            options={
                "indexes": [models.Index(fields=["last_attempt_at"], name="sign_in_attempts_by_time")],
            },
        ),
        migrations.CreateModel(
            name="Tenant",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "key",
                    models.CharField(
                        max_length=40,
                        unique=True,
                        validators=[
                            django.core.validators.RegexValidator(
                                "^[a-z0-9]+(?:-[a-z0-9]+)*\\Z", "Use lower-case letters, digits and single hyphens."
                            )
                        ],
                    ),
                ),
                ("name", models.CharField(max_length=120)),
            ],
            options={
                "permissions": permissions(),
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("key__regex", "^[a-z0-9]+(?:-[a-z0-9]+)*\\Z")),
                        name="tenant_key_is_lower_case",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="StaffAccess",
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
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
                (
                    "reason",
                    models.TextField(
                        validators=[
                            apps.governance.stored_text.validate_storable_text,
                            django.core.validators.MaxLengthValidator(500),
                        ],
                        verbose_name="why",
                    ),
                ),
                ("expires_at", models.DateTimeField(verbose_name="until at most")),
                ("ended_at", models.DateTimeField(blank=True, null=True, verbose_name="left")),
            ],
            options={
                "verbose_name": "visit of platform staff",
                "verbose_name_plural": "visits of platform staff",
                "ordering": ["-id"],
                "abstract": False,
                "base_manager_name": "objects",
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("reason", ""), _negated=True), name="staff_access_says_why"
                    )
                ],
            },
            bases=(django_fsm.FSMModelMixin, models.Model),
        ),
        migrations.CreateModel(
            name="ModelPrice",
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
                    "model",
                    models.CharField(
                        help_text="A model's name, or a prefix followed by a star, such as gpt-*. The longest match applies.",
                        max_length=80,
                        validators=[
                            django.core.validators.RegexValidator(
                                "^[A-Za-z0-9][A-Za-z0-9._:/@-]*\\*?\\Z",
                                "Enter a model's name, or a prefix followed by a star.",
                            )
                        ],
                    ),
                ),
                (
                    "valid_from",
                    models.DateTimeField(
                        help_text="Calls from then on have these prices; earlier ones keep theirs.",
                        verbose_name="from",
                    ),
                ),
                (
                    "input_micro_usd",
                    models.PositiveIntegerField(
                        help_text="Millionths of a US dollar for a million tokens: 2000000 is two dollars.",
                        validators=[django.core.validators.MaxValueValidator(1000000000)],
                        verbose_name="input",
                    ),
                ),
                (
                    "output_micro_usd",
                    models.PositiveIntegerField(
                        help_text="Millionths of a US dollar for a million tokens: 2000000 is two dollars.",
                        validators=[django.core.validators.MaxValueValidator(1000000000)],
                        verbose_name="output",
                    ),
                ),
                (
                    "cache_read_micro_usd",
                    models.PositiveIntegerField(
                        help_text="Millionths of a US dollar for a million tokens: 2000000 is two dollars.",
                        validators=[django.core.validators.MaxValueValidator(1000000000)],
                        verbose_name="read from the cache",
                    ),
                ),
                (
                    "cache_write_5m_micro_usd",
                    models.PositiveIntegerField(
                        help_text="Millionths of a US dollar for a million tokens: 2000000 is two dollars.",
                        validators=[django.core.validators.MaxValueValidator(1000000000)],
                        verbose_name="kept for 5 minutes",
                    ),
                ),
                (
                    "cache_write_1h_micro_usd",
                    models.PositiveIntegerField(
                        help_text="Millionths of a US dollar for a million tokens: 2000000 is two dollars.",
                        validators=[django.core.validators.MaxValueValidator(1000000000)],
                        verbose_name="kept for an hour",
                    ),
                ),
            ],
            options={
                "verbose_name": "price",
                "ordering": ["model", "-valid_from"],
                "abstract": False,
                "base_manager_name": "objects",
                "constraints": [
                    models.UniqueConstraint(
                        fields=("tenant", "model", "valid_from"),
                        name="model_has_one_price_at_a_time",
                        violation_error_message="This model has a price from that moment already. Withdraw it first.",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("model__regex", "^[A-Za-z0-9][A-Za-z0-9._:/@-]*\\*?\\Z")),
                        name="priced_model_has_a_name",
                    ),
                ],
            },
            bases=(django_fsm.FSMModelMixin, models.Model),
        ),
        migrations.CreateModel(
            name="Membership",
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
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="memberships",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                ("role", models.CharField(choices=[("operator", "Operator"), ("admin", "Admin")], max_length=20)),
                ("is_active", models.BooleanField(default=True, verbose_name="active")),
                ("reset_at", models.DateTimeField(blank=True, null=True, verbose_name="last reset")),
                ("accepted_at", models.DateTimeField(blank=True, null=True, verbose_name="accepted")),
            ],
            options={
                "verbose_name": "member",
                "ordering": ["id"],
                "abstract": False,
                "base_manager_name": "objects",
                "constraints": [
                    models.UniqueConstraint(
                        fields=("tenant", "user"),
                        name="user_is_member_once",
                        violation_error_message="This person is a member of the tenant already.",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("role__in", ["operator", "admin"])), name="member_is_operator_or_admin"
                    ),
                ],
            },
            bases=(django_fsm.FSMModelMixin, models.Model),
        ),
        migrations.CreateModel(
            name="MemberLimit",
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
                    "member",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="limits", to="tenants.membership"
                    ),
                ),
                ("limited_act", models.CharField(max_length=40, verbose_name="act")),
                ("agent_ids", models.JSONField(blank=True, default=list, verbose_name="only for these agents")),
            ],
            options={
                "ordering": ["member", "limited_act"],
                "abstract": False,
                "base_manager_name": "objects",
                "constraints": [
                    models.UniqueConstraint(
                        fields=("tenant", "member", "limited_act"),
                        name="member_is_limited_once_per_act",
                        violation_error_message="This member has a limit for this act already. Change that limit.",
                    )
                ],
            },
            bases=(django_fsm.FSMModelMixin, models.Model),
        ),
        migrations.CreateModel(
            name="InvokableAgent",
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
                        on_delete=django.db.models.deletion.PROTECT, related_name="invokables", to="tenants.agent"
                    ),
                ),
                (
                    "callee",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="invoked_by",
                        to="tenants.agent",
                        verbose_name="may ask",
                    ),
                ),
                (
                    "role_hint",
                    models.CharField(
                        blank=True,
                        help_text="What to ask the other agent for, in one line.",
                        max_length=300,
                        validators=[apps.governance.stored_text.validate_storable_text],
                    ),
                ),
                (
                    "budget_micro_usd",
                    models.PositiveBigIntegerField(
                        blank=True,
                        help_text="Highest cost of one answer. Empty: half of the asking turn's remaining budget, if it has one.",
                        null=True,
                        validators=[django.core.validators.MinValueValidator(1)],
                        verbose_name="budget of a question, in millionths of a US dollar",
                    ),
                ),
            ],
            options={
                "ordering": ["id"],
                "abstract": False,
                "base_manager_name": "objects",
                "constraints": [
                    models.UniqueConstraint(
                        fields=("tenant", "agent", "callee"),
                        name="invokable_agent_is_listed_once",
                        violation_error_message="This agent may ask that one already. Change the existing entry.",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("agent", models.F("callee")), _negated=True),
                        name="agent_does_not_invoke_itself",
                        violation_error_message="An agent cannot ask itself. Choose another one.",
                    ),
                ],
            },
            bases=(django_fsm.FSMModelMixin, models.Model),
        ),
        migrations.CreateModel(
            name="AgentUserObjectPermission",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("permission", models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to="auth.permission")),
                ("user", models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to=settings.AUTH_USER_MODEL)),
                (
                    "tenant",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="tenants.tenant"
                    ),
                ),
                ("content_object", models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to="tenants.agent")),
                (
                    "limit",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="rows", to="tenants.memberlimit"
                    ),
                ),
            ],
            options={
                "abstract": False,
                "unique_together": {("user", "permission", "content_object")},
            },
        ),
        migrations.CreateModel(
            name="AgentToken",
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
                        on_delete=django.db.models.deletion.PROTECT, related_name="tokens", to="tenants.agent"
                    ),
                ),
                ("name", models.CharField(max_length=80)),
                ("prefix", models.CharField(max_length=16)),
                ("digest", models.CharField(max_length=64, unique=True)),
                ("expires_at", models.DateTimeField(blank=True, null=True)),
                ("revoked_at", models.DateTimeField(blank=True, null=True)),
                ("last_used_at", models.DateTimeField(blank=True, null=True)),
            ],
            options={
                "ordering": ["-id"],
                "abstract": False,
                "base_manager_name": "objects",
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            ("expires_at__isnull", True), ("expires_at__gt", models.F("created_at")), _connector="OR"
                        ),
                        name="token_expires_after_it_is_issued",
                    )
                ],
            },
            bases=(django_fsm.FSMModelMixin, models.Model),
        ),
        migrations.CreateModel(
            name="AgentGroupObjectPermission",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("permission", models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to="auth.permission")),
                ("group", models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to="auth.group")),
                (
                    "tenant",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="tenants.tenant"
                    ),
                ),
                ("content_object", models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to="tenants.agent")),
                (
                    "grants",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="rows", to="tenants.agentgrants"
                    ),
                ),
            ],
            options={
                "abstract": False,
                "unique_together": {("group", "permission", "content_object")},
            },
        ),
        migrations.CreateModel(
            name="TenantGroupObjectPermission",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("permission", models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to="auth.permission")),
                ("group", models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to="auth.group")),
                ("content_object", models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to="tenants.tenant")),
            ],
            options={
                "abstract": False,
                "unique_together": {("group", "permission", "content_object")},
            },
        ),
        migrations.CreateModel(
            name="TenantSettings",
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
                    "timezone",
                    models.CharField(
                        default="UTC",
                        help_text="Such as Europe/Berlin. Agents get the date and time of this zone.",
                        max_length=60,
                        validators=[apps.tenants.models.tenant.validate_timezone],
                        verbose_name="time zone",
                    ),
                ),
                (
                    "ai_disclosure",
                    models.CharField(
                        choices=[
                            ("always", "Always: the first reply says so"),
                            ("on_request", "On request: whoever asks is told"),
                            ("never_volunteer", "Never volunteered: not raised by itself, never denied"),
                        ],
                        default="on_request",
                        help_text="When customers are told that they talk to an AI. Many places have a law about this.",
                        max_length=20,
                        verbose_name="AI disclosure",
                    ),
                ),
                (
                    "slot_order",
                    models.CharField(
                        choices=[
                            ("persona_first", "Persona first"),
                            ("contract_first", "Contract first: agents share its cache"),
                        ],
                        default="persona_first",
                        help_text="What the prompt begins with. Contract first costs less where several agents have one contract.",
                        max_length=20,
                    ),
                ),
                (
                    "high_risk_reviewers",
                    models.PositiveSmallIntegerField(
                        choices=[
                            (1, "One, who may have written the words"),
                            (2, "Two, who neither proposed nor edited the words"),
                        ],
                        default=2,
                        help_text="Who must approve changes of hard don'ts, the contract, autonomous sending or tools that make payments.",
                        verbose_name="reviewers for high risk",
                    ),
                ),
                (
                    "proposal_days",
                    models.PositiveSmallIntegerField(
                        default=30,
                        help_text="A proposal expires after this many days without a decision. It can be reopened.",
                        validators=[
                            django.core.validators.MinValueValidator(1),
                            django.core.validators.MaxValueValidator(365),
                        ],
                        verbose_name="days a proposal waits",
                    ),
                ),
                (
                    "max_open_proposals",
                    models.PositiveSmallIntegerField(
                        default=50,
                        help_text="An agent with this many open proposals must revise one of them, or wait.",
                        validators=[
                            django.core.validators.MinValueValidator(1),
                            django.core.validators.MaxValueValidator(1000),
                        ],
                        verbose_name="open proposals of an agent",
                    ),
                ),
                (
                    "memory_review",
                    models.CharField(
                        choices=[
                            ("off", "Off: agents' memory is free, and quoted as data"),
                            ("tainted", "Tainted: lines with a customer's or a tool's words wait for a person"),
                            ("all", "All: whatever an agent writes to memory waits for a person"),
                        ],
                        default="off",
                        help_text="Applies to text that agents write by themselves and that every customer's prompt would carry.",
                        max_length=10,
                    ),
                ),
                (
                    "learning_apply_mode",
                    models.CharField(
                        choices=[
                            ("approval", "Approval: a new version waits for a person"),
                            ("auto", "Auto: a new version is read at once"),
                        ],
                        default="approval",
                        help_text="With auto, only a word-based check reads each bullet, and no person. In tests it caught about three in four harmful bullets with wordings that it had not seen. The agent reads such bullets as data, not as instructions.",
                        max_length=10,
                        verbose_name="what agents learn from corrections",
                    ),
                ),
                (
                    "day_budget_micro_usd",
                    models.PositiveBigIntegerField(
                        blank=True,
                        help_text="For all agents together, from midnight to midnight in the tenant's time zone; 20000000 is 20 dollars. Once it is spent, customers' messages wait for the next day. Empty: no budget.",
                        null=True,
                        validators=[django.core.validators.MinValueValidator(1)],
                        verbose_name="budget of a day, in millionths of a US dollar",
                    ),
                ),
                (
                    "pii_patterns",
                    models.TextField(
                        blank=True,
                        default="",
                        help_text="Up to 20, a line each: policy-number: POL-######. # is a digit, @ a letter, * either, {6,8} repeats. They are masked before anything is learned.",
                        validators=[
                            apps.governance.stored_text.validate_storable_text,
                            django.core.validators.MaxLengthValidator(2400),
                            apps.tenants.models.tenant.validate_pii_patterns,
                        ],
                        verbose_name="numbers of your own",
                    ),
                ),
                (
                    "is_customer_proof_required",
                    models.BooleanField(
                        default=True,
                        help_text="On: an agent gets a customer's profile only if your server signed who the customer is. Off: the name in a message is trusted.",
                        verbose_name="profiles need a proof",
                    ),
                ),
                (
                    "messages_per_minute",
                    models.PositiveIntegerField(
                        default=120,
                        help_text="More are refused until some time has passed. In a thread without a customer's name, the thread's messages are counted.",
                        validators=[
                            django.core.validators.MinValueValidator(1),
                            django.core.validators.MaxValueValidator(10000),
                        ],
                        verbose_name="messages of a customer in a minute",
                    ),
                ),
                (
                    "messages_per_day",
                    models.PositiveIntegerField(
                        default=2000,
                        help_text="Counted over the last 24 hours.",
                        validators=[
                            django.core.validators.MinValueValidator(1),
                            django.core.validators.MaxValueValidator(100000),
                        ],
                        verbose_name="messages of a customer in 24 hours",
                    ),
                ),
                (
                    "is_second_factor_required",
                    models.BooleanField(
                        default=False,
                        help_text="On: members without one must set one up before any other page opens, and the API refuses them.",
                        verbose_name="members need a second factor",
                    ),
                ),
                (
                    "requests_per_minute",
                    models.PositiveIntegerField(
                        blank=True,
                        help_text="Over REST and MCP, for all tokens of an agent together. More are refused until the minute is over. Empty: the limit of the installation.",
                        null=True,
                        validators=[django.core.validators.MinValueValidator(1)],
                        verbose_name="requests of an agent or member in a minute",
                    ),
                ),
                (
                    "requests_per_minute_of_tenant",
                    models.PositiveIntegerField(
                        blank=True,
                        help_text="For all agents and members of the tenant together. The console is not counted.",
                        null=True,
                        validators=[django.core.validators.MinValueValidator(1)],
                        verbose_name="requests of all together in a minute",
                    ),
                ),
                (
                    "proof_secret",
                    models.ForeignKey(
                        editable=False,
                        null=True,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="tenants.sealedsecret",
                    ),
                ),
                (
                    "former_proof_secret",
                    models.ForeignKey(
                        editable=False,
                        null=True,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="tenants.sealedsecret",
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "tenant settings",
                "abstract": False,
                "base_manager_name": "objects",
                "constraints": [
                    models.UniqueConstraint(fields=("tenant",), name="tenant_has_one_settings_row"),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("requests_per_minute__isnull", True), ("requests_per_minute__gte", 1), _connector="OR"
                        ),
                        name="requests_per_minute_is_positive",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("requests_per_minute_of_tenant__isnull", True),
                            ("requests_per_minute_of_tenant__gte", 1),
                            _connector="OR",
                        ),
                        name="requests_per_minute_of_tenant_is_positive",
                    ),
                ],
            },
            bases=(django_fsm.FSMModelMixin, models.Model),
        ),
    ]
