from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("conversations", "0030_lines_of_agents"),
        ("tenants", "0046_tokens_with_their_grants"),
    ]

    operations = [
        migrations.AddIndex(
            model_name="conversation",
            index=models.Index(
                condition=models.Q(("member_user_id__isnull", True), ("origin", "live"), ("parent__isnull", True)),
                fields=["tenant", "agent", "id"],
                name="conversation_of_agent",
            ),
        ),
    ]
