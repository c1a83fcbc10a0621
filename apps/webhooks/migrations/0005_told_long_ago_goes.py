"""What a webhook took more than a day ago may go; what waits or was given up stays, and so does what was told lately."""

from typing import ClassVar

from django.db import migrations

from apps.governance.database import RoleSQL

GOES = """
DROP TRIGGER append_only ON webhooks_delivery;
CREATE TRIGGER append_only BEFORE UPDATE OF tenant_id, webhook_id, conversation_id, event, subject_id, created_at
    ON webhooks_delivery FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER told_long_ago BEFORE DELETE ON webhooks_delivery FOR EACH ROW
    WHEN (OLD.status <> 'delivered' OR OLD.delivered_at > statement_timestamp() - interval '1 day')
    EXECUTE FUNCTION refuse_change();
GRANT DELETE ON webhooks_delivery TO @worker@
"""


class Migration(migrations.Migration):
    """Rights and triggers."""

    dependencies: ClassVar = [
        ("webhooks", "0004_told_long_ago"),
    ]
    operations: ClassVar = [RoleSQL(GOES)]
