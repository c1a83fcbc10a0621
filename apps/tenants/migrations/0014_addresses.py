"""Memberships that wait to be accepted, and addresses that are known to be somebody's."""

import django.db.models.functions.text
from django.db import migrations, models
from django.utils import timezone


class Migration(migrations.Migration):
    dependencies = [
        ("auth", "0012_alter_user_first_name_max_length"),
        ("tenants", "0013_walls_of_staff"),
    ]

    operations = [
        migrations.AddField(
            model_name="membership",
            name="accepted_at",
            # Whoever is a member already came in before anybody had to accept.
            field=models.DateTimeField(blank=True, default=timezone.now, null=True, verbose_name="accepted"),
        ),
        migrations.AlterField(
            model_name="membership",
            name="accepted_at",
            field=models.DateTimeField(blank=True, null=True, verbose_name="accepted"),
        ),
        migrations.AddField(
            model_name="user",
            name="address_proven_at",
            field=models.DateTimeField(blank=True, editable=False, null=True),
        ),
        migrations.AddField(
            model_name="user",
            name="held_since",
            field=models.DateTimeField(blank=True, editable=False, null=True),
        ),
        migrations.AddConstraint(
            model_name="user",
            constraint=models.UniqueConstraint(
                django.db.models.functions.text.Lower("username"),
                name="user_name_is_unique_whatever_its_case",
                violation_error_message="There is a person of this name already.",
            ),
        ),
    ]
