"""What a broken key tells: nothing of another tenant (R006)."""

from typing import ClassVar

from django.db import migrations

from apps.governance.database import ONE_REFERENCE_EACH, RoleSQL, UniqueInTenant

# A service user stands behind one agent everywhere; whose it is must be seen before the key can say that it is taken.
OWN_SERVICE_USER = """
CREATE POLICY tenants_agent_own_user ON tenants_agent AS RESTRICTIVE FOR INSERT TO @operator@, @worker@
    WITH CHECK (EXISTS (SELECT 1 FROM tenants_user AS its WHERE its.id = service_user_id AND its.is_service))
"""


class Migration(migrations.Migration):
    """Keys and one policy, in tables of several apps: this is the last floor that has any."""

    dependencies: ClassVar = [
        ("learning", "0003_off_the_record"),
        ("tenants", "0005_prompt_walls"),
        ("governance", "0004_acts_follow_the_policy"),
        ("personas", "0005_they_stay_with_their_agent"),
        ("skills", "0002_walls"),
        ("memory", "0005_signatures"),
        ("conversations", "0005_sent_by"),
        ("runtime", "0003_owners_and_ledger"),
    ]
    operations: ClassVar = [
        RoleSQL(ONE_REFERENCE_EACH),
        UniqueInTenant("learning_extraction", "conversation_id"),
        UniqueInTenant("skills_skilluse", "skill_id"),
        UniqueInTenant("governance_changetext", "record_id"),
        RoleSQL(OWN_SERVICE_USER),
    ]
