"""A talk is between one member and an assistant: born so, read by nobody else, and nothing of customers' conversations fits it."""

from typing import ClassVar

from django.db import migrations

from apps.governance.database import RoleSQL

# Past row security, as references are: that the person is a member, whoever looks.
OF_A_MEMBER = """
ALTER TABLE conversations_conversation ADD CONSTRAINT conversations_conversation_member_in_tenant
    FOREIGN KEY (tenant_id, member_user_id) REFERENCES tenants_membership (tenant_id, user_id) DEFERRABLE INITIALLY DEFERRED
"""
BORN = """
CREATE FUNCTION born_for_whom() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    of_agent text;
BEGIN
    SELECT flavour INTO of_agent FROM tenants_agent WHERE tenant_id = NEW.tenant_id AND id = NEW.agent_id;
    IF NEW.member_user_id IS NULL AND (NEW.channel = 'console' OR of_agent = 'assistant') THEN
        RAISE EXCEPTION 'An assistant is talked with by members, in the console, and by nobody else.'
            USING ERRCODE = 'check_violation';
    END IF;
    IF NEW.member_user_id IS NOT NULL AND (app_agent() IS NOT NULL OR NEW.member_user_id IS DISTINCT FROM app_member()
            OR of_agent IS DISTINCT FROM 'assistant') THEN
        RAISE EXCEPTION 'A member begins their own talk, with an assistant.' USING ERRCODE = 'check_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER born_for_whom BEFORE INSERT ON conversations_conversation FOR EACH ROW EXECUTE FUNCTION born_for_whom();
CREATE FUNCTION keep_the_member() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'Whose talk it is stays as it began.' USING ERRCODE = 'check_violation';
END $$;
CREATE TRIGGER keep_the_member BEFORE UPDATE ON conversations_conversation FOR EACH ROW
    WHEN (NEW.member_user_id IS DISTINCT FROM OLD.member_user_id OR NEW.agent_id <> OLD.agent_id)
    EXECUTE FUNCTION keep_the_member()
"""
# Asked past row security: the talks of colleagues count, and whoever changes the agent does not see them.
FLAVOUR = """
CREATE FUNCTION keep_the_flavour() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    IF EXISTS (SELECT 1 FROM conversations_conversation WHERE tenant_id = NEW.tenant_id AND agent_id = NEW.id) THEN
        RAISE EXCEPTION 'This agent has talked with somebody already, so whom it serves stays. Make another agent.'
            USING ERRCODE = 'check_violation';
    END IF;
    RETURN NEW;
END $$;
REVOKE ALL ON FUNCTION keep_the_flavour() FROM PUBLIC;
CREATE TRIGGER keep_the_flavour BEFORE UPDATE OF flavour ON tenants_agent FOR EACH ROW
    WHEN (NEW.flavour <> OLD.flavour) EXECUTE FUNCTION keep_the_flavour();
ALTER FUNCTION keep_the_flavour() OWNER TO @crossing@
"""
OWN_TALKS = """
CREATE POLICY conversations_conversation_talk ON conversations_conversation AS RESTRICTIVE TO @operator@, @staff@, @agent@
    USING (member_user_id IS NULL OR member_user_id = app_member())
"""
# What hangs on a talk is seen by whom the talk is seen by; agents' rows are bound to what they see of old.
HANGING: tuple[tuple[str, str], ...] = (
    ("conversations_inboundevent", "conversation_id"),
    ("conversations_message", "conversation_id"),
    ("runtime_session", "conversation_id"),
    ("runtime_turn", "conversation_id"),
)
BELOW: tuple[tuple[str, str, str], ...] = (
    ("runtime_sessionpart", "session_id", "runtime_session"),
    ("runtime_modelcall", "turn_id", "runtime_turn"),
    ("runtime_toolstep", "turn_id", "runtime_turn"),
)
IS_TALK = """EXISTS (
    SELECT 1 FROM conversations_conversation AS thread WHERE thread.id = conversation_id AND thread.member_user_id IS NOT NULL)"""
# Its member alone speaks to it, and its assistant alone answers.
SPOKEN = f"""
CREATE POLICY conversations_inboundevent_talk_insert ON conversations_inboundevent AS RESTRICTIVE FOR INSERT
    TO @agent@, @worker@ WITH CHECK (NOT {IS_TALK});
CREATE POLICY conversations_message_talk_insert ON conversations_message AS RESTRICTIVE FOR INSERT
    TO @operator@ WITH CHECK (NOT {IS_TALK})
"""
# What waits for people, or is told to others, is never a talk. Its member's colleagues cannot see it, so none is asked.
REFUSE_TALK = """
CREATE FUNCTION refuse_talk() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    IF EXISTS (SELECT 1 FROM conversations_conversation AS thread WHERE thread.tenant_id = NEW.tenant_id
            AND thread.id = NEW.conversation_id AND thread.member_user_id IS NOT NULL) THEN
        RAISE EXCEPTION 'This is a member''s talk with an assistant; no desk, webhook or lesson is told of it.'
            USING ERRCODE = 'check_violation';
    END IF;
    RETURN NEW;
END $$;
REVOKE ALL ON FUNCTION refuse_talk() FROM PUBLIC;
GRANT SELECT (member_user_id) ON conversations_conversation TO @crossing@
"""
NOT_OF_TALKS = ("desk_draft", "desk_escalation", "tools_toolapproval", "webhooks_delivery", "learning_extraction")


def _refuses(table: str) -> str:
    return f"CREATE TRIGGER refuse_talk BEFORE INSERT ON {table} FOR EACH ROW EXECUTE FUNCTION refuse_talk()"


def _seen_with(table: str, column: str, seen: str) -> str:
    return f"""CREATE POLICY {table}_talk ON {table} AS RESTRICTIVE TO @operator@, @staff@
    USING (EXISTS (SELECT 1 FROM {seen} AS thread WHERE thread.id = {table}.{column}))"""  # noqa: S608  # of constants


class Migration(migrations.Migration):
    """Triggers, policies and one reference."""

    dependencies: ClassVar = [
        ("conversations", "0021_talks"),
        ("governance", "0012_member"),
        ("tenants", "0027_shows_figures"),
        ("runtime", "0012_forgetting"),
        ("desk", "0003_a_draft_may_go"),
        ("tools", "0004_walls_of_approvals"),
        ("webhooks", "0003_replies_before_forgetting"),
        ("learning", "0013_the_last_word_and_the_end"),
    ]
    operations: ClassVar = [
        RoleSQL(OF_A_MEMBER),
        RoleSQL(BORN),
        RoleSQL(FLAVOUR),
        RoleSQL(OWN_TALKS),
        *(RoleSQL(_seen_with(table, column, "conversations_conversation")) for table, column in HANGING),
        *(RoleSQL(_seen_with(*each)) for each in BELOW),
        RoleSQL(SPOKEN),
        RoleSQL(REFUSE_TALK),
        *(RoleSQL(_refuses(table)) for table in NOT_OF_TALKS),
        RoleSQL("ALTER FUNCTION refuse_talk() OWNER TO @crossing@"),
    ]
