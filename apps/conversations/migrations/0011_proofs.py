from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("conversations", "0010_scheduled"),
        ("tenants", "0023_proofs"),
    ]

    operations = [
        migrations.AddField(
            model_name="conversation",
            name="proven_at",
            field=models.DateTimeField(
                editable=False, help_text="When somebody proved to be the customer it names.", null=True
            ),
        ),
        migrations.AddField(
            model_name="conversation",
            name="proven_key_id",
            field=models.BigIntegerField(
                editable=False, help_text="Which of the tenant's keys signed that.", null=True
            ),
        ),
        migrations.AddIndex(
            model_name="conversation",
            index=models.Index(
                condition=models.Q(("end_user_key", ""), _negated=True),
                fields=["tenant", "end_user_key"],
                name="conversation_of_customer",
            ),
        ),
        migrations.AddConstraint(
            model_name="conversation",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("proven_at__isnull", True), ("proven_key_id__isnull", True)),
                    models.Q(
                        ("proven_at__isnull", False),
                        ("proven_key_id__isnull", False),
                        models.Q(("end_user_key", ""), _negated=True),
                    ),
                    _connector="OR",
                ),
                name="proven_conversation_names_its_customer_and_the_key",
            ),
        ),
    ]
