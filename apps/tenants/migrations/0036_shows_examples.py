from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("tenants", "0035_endpoints_go"),
    ]

    operations = [
        migrations.AddField(
            model_name="agent",
            name="shows_examples",
            field=models.BooleanField(
                default=False,
                help_text="On: with a customer of few corrections, up to three that people kept as examples, without anybody's data.",
                verbose_name="is shown examples",
            ),
        ),
    ]
