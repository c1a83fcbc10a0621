"""The walls around webhooks: admins write them, workers note and deliver, people send again what was given up, agents see nothing."""

from typing import ClassVar

from django.db import migrations

from apps.governance.database import ComposeForeignKey, ComposeKey, RaiseWall, UniqueInTenant, Wall

WEBHOOKS = Wall(
    operator="SELECT, INSERT, UPDATE (title, url, is_active, on_reply, on_draft, on_escalation, on_resolved, secret_id, former_secret_id)",
    agent="",
    crossing="SELECT (id, tenant_id, is_active)",
)
STAYS = """CREATE TRIGGER append_only BEFORE DELETE OR UPDATE OF tenant_id, webhook_id, conversation_id, event, subject_id, created_at
    ON webhooks_delivery FOR EACH ROW EXECUTE FUNCTION refuse_change()"""
# What it is about stays; a person can only have it tried anew.
DELIVERIES = Wall(
    operator="SELECT, UPDATE (status, tries, next_try_at, lease_until, sent_again_by)",
    worker="SELECT, INSERT, UPDATE (status, tries, next_try_at, lease_until, fence, answered, failure, delivered_at)",
    agent="",
    crossing="SELECT (id, tenant_id, webhook_id, conversation_id, status, next_try_at, lease_until)",
    versioned=False,
    states={"waiting": ("delivered", "dead"), "dead": ("waiting",), "delivered": ()},
    extra=(STAYS,),
)
HEALTH = Wall(
    operator="SELECT",
    worker="SELECT, INSERT, UPDATE (failures, failing_since, rests_until)",
    agent="",
    crossing="SELECT (tenant_id, webhook_id, rests_until)",
    versioned=False,
)


class Migration(migrations.Migration):
    """Row security, grants, triggers and composite keys."""

    dependencies: ClassVar = [
        ("webhooks", "0001_tables"),
        ("conversations", "0012_walls_of_proofs"),
        ("governance", "0003_walls"),
        ("tenants", "0024_walls_of_proofs"),
    ]
    operations: ClassVar = [
        RaiseWall("webhooks_webhook", WEBHOOKS),
        RaiseWall("webhooks_delivery", DELIVERIES),
        RaiseWall("webhooks_webhookhealth", HEALTH),
        ComposeKey("webhooks_webhook"),
        UniqueInTenant("webhooks_webhookhealth", "webhook_id"),
        ComposeForeignKey("webhooks_webhook", "secret_id", "tenants_sealedsecret"),
        ComposeForeignKey("webhooks_webhook", "former_secret_id", "tenants_sealedsecret"),
        ComposeForeignKey("webhooks_delivery", "webhook_id", "webhooks_webhook"),
        ComposeForeignKey("webhooks_delivery", "conversation_id", "conversations_conversation"),
        ComposeForeignKey("webhooks_webhookhealth", "webhook_id", "webhooks_webhook"),
    ]
