"""Whose talks with assistants the present transaction may read."""

from typing import ClassVar

from django.db import migrations

from apps.governance.database import RoleSQL

MEMBER = """
CREATE FUNCTION app_member() RETURNS bigint LANGUAGE sql STABLE PARALLEL SAFE
    AS $$ SELECT nullif(current_setting('app.member', true), '')::bigint $$
"""


class Migration(migrations.Migration):
    """One function."""

    dependencies: ClassVar = [
        ("governance", "0011_kinds_in_plain_words"),
    ]
    operations: ClassVar = [RoleSQL(MEMBER)]
