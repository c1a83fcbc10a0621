"""A look for webhooks that were not told of a review that waits."""

from typing import ClassVar

from django.db import migrations

from apps.governance.database import DueWork, RoleSQL

# By `apps.notices.reviews`: a review of the last day, which the webhook asked to be told of and was not.
OF_REVIEWS = """
    SELECT webhook.tenant_id, webhook.id, min(proposal.created_at) FROM webhooks_webhook AS webhook
        JOIN governance_proposal AS proposal ON proposal.tenant_id = webhook.tenant_id AND proposal.state = 'open'
            AND proposal.created_at > statement_timestamp() - interval '1 day'
            AND coalesce(proposal.snoozed_until, '-infinity') <= statement_timestamp()
        WHERE webhook.is_active AND webhook.on_review AND webhook.secret_id IS NOT NULL AND NOT EXISTS (
            SELECT 1 FROM webhooks_delivery AS told WHERE told.tenant_id = webhook.tenant_id
                AND told.webhook_id = webhook.id AND told.event = 'review' AND told.subject_id = proposal.id)
        GROUP BY webhook.tenant_id, webhook.id
"""
SEEN_ACROSS_TENANTS = """
GRANT SELECT (on_review, secret_id) ON webhooks_webhook TO @crossing@;
GRANT SELECT (subject_id) ON webhooks_delivery TO @crossing@;
GRANT SELECT (created_at, snoozed_until) ON governance_proposal TO @crossing@
"""


class Migration(migrations.Migration):
    """Column rights and one function."""

    dependencies: ClassVar = [
        ("notices", "0002_walls"),
        ("webhooks", "0008_reviews"),
    ]
    operations: ClassVar = [
        RoleSQL(SEEN_ACROSS_TENANTS),
        DueWork("review", OF_REVIEWS),
    ]
