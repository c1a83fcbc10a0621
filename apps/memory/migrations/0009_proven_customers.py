"""In a turn with a customer who is named but not proven, no profile is seen or written."""

from typing import ClassVar

from django.db import migrations

from apps.governance.database import RoleSQL

PROVEN = """
CREATE FUNCTION app_customer_is_proven() RETURNS boolean LANGUAGE sql STABLE PARALLEL SAFE
    AS $$ SELECT left(current_setting('app.customer', true), 1) IS DISTINCT FROM '~' $$;
ALTER POLICY memory_customerprofile_agent ON memory_customerprofile
    USING (app_customer() IS NULL OR (end_user_key = app_customer() AND app_customer_is_proven()))
    WITH CHECK (app_customer() IS NULL OR (end_user_key = app_customer() AND app_customer_is_proven()))
"""


class Migration(migrations.Migration):
    """One policy anew."""

    dependencies: ClassVar = [
        ("memory", "0008_labels_apart"),
    ]
    operations: ClassVar = [RoleSQL(PROVEN)]
