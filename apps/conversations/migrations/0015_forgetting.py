from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("conversations", "0014_walls_between_agents"),
        ("tenants", "0026_budget_of_a_question"),
    ]

    operations = [
        migrations.AddField(
            model_name="conversation",
            name="forgotten_at",
            field=models.DateTimeField(
                editable=False, help_text="When what was said off the record was last forgotten.", null=True
            ),
        ),
        migrations.AddIndex(
            model_name="conversation",
            index=models.Index(
                condition=models.Q(("off_the_record", True)), fields=["id"], name="conversation_off_the_record"
            ),
        ),
    ]
