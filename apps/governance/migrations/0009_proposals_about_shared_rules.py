"""A proposal about a rule of the organisation is every agent's to see and to revise, like one about its settings."""

from typing import ClassVar

from django.db import migrations

from apps.governance.database import RoleSQL

# Whoever asks second revises the open one; an agent that could not see it was told to revise what was not there for it.
AGENT_ROWS = """CASE target_type
        WHEN 'memory.customerprofile'
            THEN EXISTS (SELECT 1 FROM memory_customerprofile AS profile WHERE profile.id = target_id)
        WHEN 'tenants.tenantsettings' THEN agent_id IS NOT NULL
        WHEN 'personas.standingrule' THEN agent_id = app_agent() OR agent_id IS NOT NULL
            AND EXISTS (SELECT 1 FROM personas_standingrule AS rule WHERE rule.id = target_id AND rule.agent_id IS NULL)
        ELSE agent_id = app_agent()
    END"""
SHARED = f"""
DROP POLICY governance_proposal_agent ON governance_proposal;
CREATE POLICY governance_proposal_agent ON governance_proposal AS RESTRICTIVE TO @agent@
    USING ({AGENT_ROWS}) WITH CHECK ({AGENT_ROWS} AND taint <> 'operator')
"""


class Migration(migrations.Migration):
    """Row security only."""

    dependencies: ClassVar = [
        ("governance", "0008_review_walls"),
        ("personas", "0005_they_stay_with_their_agent"),
    ]
    operations: ClassVar = [RoleSQL(SHARED)]
