import django.db.models.deletion
import django.db.models.functions.datetime
from django.conf import settings
from django.db import migrations, models

from apps.governance.database.migration_operations import TableMigration


class Migration(TableMigration):
    initial = True

    dependencies = [
        ("tenants", "0001_tables"),
        ("tenants", "__first__"),
    ]

    operations = [
        migrations.CreateModel(
            name="NotificationPreferences",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "tenant",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="tenants.tenant"
                    ),
                ),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
                (
                    "escalations",
                    models.CharField(
                        choices=[("never", "Never"), ("at-once", "At once"), ("digest", "In the digest")],
                        default="never",
                        max_length=7,
                    ),
                ),
                (
                    "tool_approvals",
                    models.CharField(
                        choices=[("never", "Never"), ("at-once", "At once"), ("digest", "In the digest")],
                        default="never",
                        max_length=7,
                    ),
                ),
                (
                    "drafts",
                    models.CharField(
                        choices=[("never", "Never"), ("at-once", "At once"), ("digest", "In the digest")],
                        default="never",
                        max_length=7,
                    ),
                ),
                (
                    "reviews",
                    models.CharField(
                        choices=[("never", "Never"), ("at-once", "At once"), ("digest", "In the digest")],
                        default="never",
                        max_length=7,
                    ),
                ),
                (
                    "stuck_turns",
                    models.CharField(
                        choices=[("never", "Never"), ("at-once", "At once"), ("digest", "In the digest")],
                        default="never",
                        max_length=7,
                    ),
                ),
                (
                    "deliveries",
                    models.CharField(
                        choices=[("never", "Never"), ("at-once", "At once"), ("digest", "In the digest")],
                        default="never",
                        max_length=7,
                    ),
                ),
                (
                    "digest_hour",
                    models.PositiveSmallIntegerField(
                        choices=[
                            (0, "00:00"),
                            (1, "01:00"),
                            (2, "02:00"),
                            (3, "03:00"),
                            (4, "04:00"),
                            (5, "05:00"),
                            (6, "06:00"),
                            (7, "07:00"),
                            (8, "08:00"),
                            (9, "09:00"),
                            (10, "10:00"),
                            (11, "11:00"),
                            (12, "12:00"),
                            (13, "13:00"),
                            (14, "14:00"),
                            (15, "15:00"),
                            (16, "16:00"),
                            (17, "17:00"),
                            (18, "18:00"),
                            (19, "19:00"),
                            (20, "20:00"),
                            (21, "21:00"),
                            (22, "22:00"),
                            (23, "23:00"),
                        ],
                        default=8,
                    ),
                ),
                (
                    "quiet_start_hour",
                    models.PositiveSmallIntegerField(
                        choices=[
                            (0, "00:00"),
                            (1, "01:00"),
                            (2, "02:00"),
                            (3, "03:00"),
                            (4, "04:00"),
                            (5, "05:00"),
                            (6, "06:00"),
                            (7, "07:00"),
                            (8, "08:00"),
                            (9, "09:00"),
                            (10, "10:00"),
                            (11, "11:00"),
                            (12, "12:00"),
                            (13, "13:00"),
                            (14, "14:00"),
                            (15, "15:00"),
                            (16, "16:00"),
                            (17, "17:00"),
                            (18, "18:00"),
                            (19, "19:00"),
                            (20, "20:00"),
                            (21, "21:00"),
                            (22, "22:00"),
                            (23, "23:00"),
                        ],
                        null=True,
                    ),
                ),
                (
                    "quiet_end_hour",
                    models.PositiveSmallIntegerField(
                        choices=[
                            (0, "00:00"),
                            (1, "01:00"),
                            (2, "02:00"),
                            (3, "03:00"),
                            (4, "04:00"),
                            (5, "05:00"),
                            (6, "06:00"),
                            (7, "07:00"),
                            (8, "08:00"),
                            (9, "09:00"),
                            (10, "10:00"),
                            (11, "11:00"),
                            (12, "12:00"),
                            (13, "13:00"),
                            (14, "14:00"),
                            (15, "15:00"),
                            (16, "16:00"),
                            (17, "17:00"),
                            (18, "18:00"),
                            (19, "19:00"),
                            (20, "20:00"),
                            (21, "21:00"),
                            (22, "22:00"),
                            (23, "23:00"),
                        ],
                        null=True,
                    ),
                ),
                ("timezone", models.CharField(default="", help_text="Empty: the tenant's.", max_length=60)),
                (
                    "notified_ids",
                    models.JSONField(
                        default=dict, help_text="Pending items that an e-mail already listed: row ids by kind."
                    ),
                ),
                ("last_digest_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ("next_check_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ("lease_until", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ("fence", models.PositiveIntegerField(db_default=0)),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("tenant", "user"), name="person_has_notification_preferences_once"),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("quiet_end_hour", None), ("quiet_start_hour", None)),
                            models.Q(
                                ("quiet_end_hour__lt", 24),
                                ("quiet_start_hour__lt", 24),
                                models.Q(("quiet_start_hour", models.F("quiet_end_hour")), _negated=True),
                            ),
                            _connector="OR",
                        ),
                        name="quiet_hours_begin_and_end",
                    ),
                    models.CheckConstraint(condition=models.Q(("digest_hour__lt", 24)), name="digest_hour_is_of_a_day"),
                ],
            },
        ),
        migrations.CreateModel(
            name="EmailNotification",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "tenant",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="tenants.tenant",
                    ),
                ),
                (
                    "preferences",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="notices",
                        to="notifications.notificationpreferences",
                    ),
                ),
                ("is_digest", models.BooleanField()),
                (
                    "status",
                    models.CharField(
                        choices=[
                            ("waiting", "Waiting"),
                            ("sent", "Sent"),
                            ("dead", "Given up"),
                            ("skipped", "Not sent: everything was settled before"),
                        ],
                        db_default="waiting",
                        max_length=10,
                    ),
                ),
                ("created_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ("attempts", models.PositiveSmallIntegerField(db_default=0)),
                (
                    "failure",
                    models.CharField(
                        db_default="", help_text="The error of the last attempt, if it failed.", max_length=40
                    ),
                ),
                ("sent_at", models.DateTimeField(null=True)),
            ],
            options={
                "ordering": ["-id"],
                "indexes": [models.Index(fields=["tenant", "preferences", "id"], name="notification_of_preferences")],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("sent_at__isnull", False), ("status", "sent")),
                            models.Q(models.Q(("status", "sent"), _negated=True), ("sent_at__isnull", True)),
                            _connector="OR",
                        ),
                        name="sent_notification_has_a_send_time",
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("status", "waiting")),
                        fields=("tenant", "preferences"),
                        name="one_waiting_notification_per_person",
                    ),
                ],
            },
        ),
    ]
