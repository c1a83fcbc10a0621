"""A tier of memory may be distilled at an endpoint of the tenant's own."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("tenants", "0046_tokens_with_their_grants"),
    ]

    operations = [
        migrations.AddField(
            model_name="agent",
            name="distil_endpoint_mid",
            field=models.ForeignKey(
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
        migrations.AddField(
            model_name="agent",
            name="distil_endpoint_long",
            field=models.ForeignKey(
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
    ]
