"""Whose text it is, and for which line, stays what it was when it was made: people change the words alone."""

from typing import ClassVar

from django.db import migrations

from apps.governance.database import RoleSQL

RIGHTS = """
REVOKE UPDATE ON personas_persona, personas_personaoverlay, personas_identitycard, personas_standingrule FROM @operator@;
GRANT UPDATE (identity, style, avoid, defaults, goals, status) ON personas_persona TO @operator@;
GRANT UPDATE (text) ON personas_personaoverlay TO @operator@;
GRANT UPDATE (business_name, assigned_name, assigned_title, hours, timezone, signature, locale) ON personas_identitycard
    TO @operator@;
GRANT UPDATE (text, position, status) ON personas_standingrule TO @operator@
"""


class Migration(migrations.Migration):
    """Rights by column."""

    dependencies: ClassVar = [
        ("personas", "0004_walls_of_nouns_of_operators"),
    ]
    operations: ClassVar = [
        RoleSQL(RIGHTS),
    ]
