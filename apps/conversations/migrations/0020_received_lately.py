from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("conversations", "0019_forgetting_looks_at_messages"),
        ("tenants", "0027_shows_figures"),
    ]

    operations = [
        migrations.AddIndex(
            model_name="inboundevent",
            index=models.Index(
                condition=models.Q(("kind", "message")),
                fields=["tenant", "conversation", "received_at"],
                name="message_received_lately",
            ),
        ),
    ]
