"""A member's overlay is the member's: they write it, and in a turn of their own talk the assistant that it is for."""

from typing import ClassVar

from django.db import migrations

from apps.governance.database import ComposeForeignKey, RaiseWall, RoleSQL, Wall

OF_ITS_MEMBER = Wall(
    operator="SELECT, INSERT, UPDATE (text, waiting_text, taint)",
    agent="SELECT, INSERT, UPDATE (text, waiting_text, taint)",
    agent_rows="agent_id = app_agent() AND member_user_id = app_member()",
)
# The words are for one assistant of one member, who alone reads and writes them. A worker gathers prompts for everybody.
OWN = """
CREATE POLICY personas_memberoverlay_own ON personas_memberoverlay AS RESTRICTIVE TO @operator@, @staff@
    USING (member_user_id = app_member());
ALTER TABLE personas_memberoverlay ADD CONSTRAINT personas_memberoverlay_member_in_tenant
    FOREIGN KEY (tenant_id, member_user_id) REFERENCES tenants_membership (tenant_id, user_id) DEFERRABLE INITIALLY DEFERRED;
CREATE FUNCTION is_for_an_assistant() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NOT EXISTS (SELECT 1 FROM tenants_agent
                    WHERE tenant_id = NEW.tenant_id AND id = NEW.agent_id AND flavour = 'assistant') THEN
        RAISE EXCEPTION 'A member writes an overlay for an assistant; an agent for customers has its operators'' overlay.'
            USING ERRCODE = 'check_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER is_for_an_assistant AFTER INSERT ON personas_memberoverlay FOR EACH ROW
    EXECUTE FUNCTION is_for_an_assistant()
"""


class Migration(migrations.Migration):
    """Row security, grants, triggers and composite keys."""

    dependencies: ClassVar = [
        ("personas", "0006_overlays_of_members"),
        ("governance", "0012_member"),
        ("tenants", "0027_shows_figures"),
    ]
    operations: ClassVar = [
        RaiseWall("personas_memberoverlay", OF_ITS_MEMBER),
        ComposeForeignKey("personas_memberoverlay", "agent_id", "tenants_agent"),
        RoleSQL(OWN),
    ]
