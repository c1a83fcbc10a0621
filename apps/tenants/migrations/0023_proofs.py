import django.core.validators
import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("tenants", "0022_budgets"),
    ]

    operations = [
        migrations.AddField(
            model_name="tenantsettings",
            name="former_proof_secret",
            field=models.ForeignKey(
                editable=False,
                null=True,
                on_delete=django.db.models.deletion.DO_NOTHING,
                related_name="+",
                to="tenants.sealedsecret",
            ),
        ),
        migrations.AddField(
            model_name="tenantsettings",
            name="messages_per_day",
            field=models.PositiveIntegerField(
                default=2000,
                help_text="The same, counted over the last 24 hours.",
                validators=[
                    django.core.validators.MinValueValidator(1),
                    django.core.validators.MaxValueValidator(100000),
                ],
                verbose_name="messages of a customer in 24 hours",
            ),
        ),
        migrations.AddField(
            model_name="tenantsettings",
            name="messages_per_minute",
            field=models.PositiveIntegerField(
                default=120,
                help_text="More are refused until some time has passed. Of a thread that names nobody, those of the thread are counted.",
                validators=[
                    django.core.validators.MinValueValidator(1),
                    django.core.validators.MaxValueValidator(10000),
                ],
                verbose_name="messages of a customer in a minute",
            ),
        ),
        migrations.AddField(
            model_name="tenantsettings",
            name="profiles_need_proof",
            field=models.BooleanField(
                default=False,
                help_text="On: what is known of a customer is told to an agent only where your server signed who writes. Off: whoever is named by a message is believed.",
                verbose_name="profiles need a proof",
            ),
        ),
        # Tenants of before go on as they were; new ones want proofs.
        migrations.AlterField(
            model_name="tenantsettings",
            name="profiles_need_proof",
            field=models.BooleanField(
                default=True,
                help_text="On: what is known of a customer is told to an agent only where your server signed who writes. Off: whoever is named by a message is believed.",
                verbose_name="profiles need a proof",
            ),
        ),
        migrations.AddField(
            model_name="tenantsettings",
            name="proof_secret",
            field=models.ForeignKey(
                editable=False,
                null=True,
                on_delete=django.db.models.deletion.DO_NOTHING,
                related_name="+",
                to="tenants.sealedsecret",
            ),
        ),
    ]
