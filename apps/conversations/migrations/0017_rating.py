import django.core.validators
from django.db import migrations, models

import apps.governance.text


class Migration(migrations.Migration):
    dependencies = [
        ("conversations", "0016_walls_of_forgetting"),
        ("tenants", "0026_budget_of_a_question"),
    ]

    operations = [
        migrations.AddField(
            model_name="conversation",
            name="rated_at",
            field=models.DateTimeField(editable=False, null=True),
        ),
        migrations.AddField(
            model_name="conversation",
            name="rating",
            field=models.PositiveSmallIntegerField(
                editable=False, help_text="What its customer thought of it, from 1 to 5, once it had ended.", null=True
            ),
        ),
        migrations.AddField(
            model_name="conversation",
            name="rating_comment",
            field=models.TextField(
                blank=True,
                editable=False,
                validators=[apps.governance.text.plain_text, django.core.validators.MaxLengthValidator(2000)],
            ),
        ),
        migrations.AddConstraint(
            model_name="conversation",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("rated_at__isnull", True), ("rating__isnull", True), ("rating_comment", "")),
                    models.Q(
                        ("rated_at__isnull", False),
                        ("rating__gte", 1),
                        ("rating__lte", 5),
                        models.Q(("status", "open"), _negated=True),
                    ),
                    _connector="OR",
                ),
                name="ended_conversation_is_rated_from_1_to_5",
            ),
        ),
        migrations.AddConstraint(
            model_name="conversation",
            constraint=models.CheckConstraint(
                condition=models.Q(("rating_comment", ""), ("off_the_record", False), _connector="OR"),
                name="no_comment_is_kept_off_the_record",
            ),
        ),
    ]
