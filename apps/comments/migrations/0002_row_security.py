"""Keys, triggers, row security and grants of this app; `sql/` has their text."""

from typing import ClassVar

from django.db import migrations

from apps.governance.database import LoadSQL, OneReferenceEach


class Migration(migrations.Migration):
    """Every table and function that the text names is there before."""

    dependencies: ClassVar = [
        ("comments", "0001_tables"),
        ("governance", "0003_row_security"),
        ("tenants", "0003_row_security"),
    ]
    operations: ClassVar = [
        LoadSQL("comments", "keys"),
        OneReferenceEach(),
        LoadSQL("comments", "triggers"),
        LoadSQL("comments", "row_security"),
    ]
