"""Whether what agents write to memory is reviewed; tenants that are there already go on as before."""

from typing import ClassVar

from django.db import migrations, models

from apps.governance.database import RoleSQL


class Migration(migrations.Migration):
    """One column, which people may change."""

    dependencies: ClassVar = [
        ("tenants", "0010_review_terms"),
    ]
    operations: ClassVar = [
        migrations.AddField(
            model_name="tenantsettings",
            name="memory_review",
            field=models.CharField(
                choices=[
                    ("off", "Off: agents' memory is free, and quoted as data"),
                    ("tainted", "Tainted: lines with a customer's or a tool's words wait for a person"),
                    ("all", "All: whatever an agent writes to memory waits for a person"),
                ],
                default="off",
                help_text="What agents write down of their own accord, and every customer's prompt would carry.",
                max_length=10,
            ),
        ),
        RoleSQL("GRANT UPDATE (memory_review) ON tenants_tenantsettings TO @operator@"),
    ]
