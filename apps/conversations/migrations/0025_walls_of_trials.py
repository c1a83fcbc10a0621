"""Who tries an agent in the playground tries it alone, as it began; and words that wait for a yes reach no other prompt than theirs."""

from typing import ClassVar

from django.db import migrations

from apps.governance.database import RoleSQL

# Read with the rights of whoever begins it: what they may not read they may not try.
BORN = """
CREATE OR REPLACE FUNCTION born_for_whom() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    of_agent text;
BEGIN
    SELECT flavour INTO of_agent FROM tenants_agent WHERE tenant_id = NEW.tenant_id AND id = NEW.agent_id;
    IF NEW.member_user_id IS NULL AND (NEW.channel IN ('console', 'playground') OR of_agent = 'assistant') THEN
        RAISE EXCEPTION 'An assistant is talked with by members, in the console, and by nobody else.'
            USING ERRCODE = 'check_violation';
    END IF;
    IF NEW.member_user_id IS NOT NULL AND (app_agent() IS NOT NULL OR NEW.member_user_id IS DISTINCT FROM app_member()
            OR (of_agent IS DISTINCT FROM 'assistant') <> (NEW.channel = 'playground')) THEN
        RAISE EXCEPTION 'A member begins their own talk, with an assistant; agents for customers they try in the playground.'
            USING ERRCODE = 'check_violation';
    END IF;
    IF NEW.tried_proposal_id IS NOT NULL AND NOT EXISTS (
            SELECT 1 FROM governance_proposal AS proposal WHERE proposal.tenant_id = NEW.tenant_id
               AND proposal.id = NEW.tried_proposal_id AND proposal.state = 'open'
               AND coalesce(proposal.agent_id, NEW.agent_id) = NEW.agent_id) THEN
        RAISE EXCEPTION 'What is tried is an open proposal about this agent, or about all.' USING ERRCODE = 'check_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE FUNCTION keep_the_trial() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'What is tried, and that it is the playground, stays as it began.' USING ERRCODE = 'check_violation';
END $$;
CREATE TRIGGER keep_the_trial BEFORE UPDATE ON conversations_conversation FOR EACH ROW
    WHEN (NEW.tried_proposal_id IS DISTINCT FROM OLD.tried_proposal_id
          OR NEW.channel <> OLD.channel AND 'playground' IN (NEW.channel, OLD.channel)
          OR OLD.channel = 'playground' AND NEW.off_the_record <> OLD.off_the_record)
    EXECUTE FUNCTION keep_the_trial()
"""
# A part says whose every byte is. Whatever waits for a yes is a proposal's.
PROPOSED = """
CREATE FUNCTION refuse_proposed_words() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    of_proposal text;
BEGIN
    FOR of_proposal IN
        SELECT DISTINCT owner ->> 1 FROM runtime_snapshotpart AS part
         CROSS JOIN LATERAL jsonb_array_elements(part.segments -> 'owners') AS owner
         WHERE part.tenant_id = NEW.tenant_id AND part.id = NEW.part_id AND owner ->> 0 = 'governance.proposal'
    LOOP
        IF NOT EXISTS (
            SELECT 1 FROM runtime_session AS session JOIN conversations_conversation AS thread
                ON thread.tenant_id = session.tenant_id AND thread.id = session.conversation_id
             WHERE session.tenant_id = NEW.tenant_id AND session.id = NEW.session_id AND thread.channel = 'playground'
               AND thread.tried_proposal_id::text = of_proposal) THEN
            RAISE EXCEPTION 'Words that wait for a yes stand in no prompt but that of who tries them in the playground.'
                USING ERRCODE = 'check_violation';
        END IF;
    END LOOP;
    RETURN NEW;
END $$;
CREATE TRIGGER refuse_proposed_words BEFORE INSERT ON runtime_sessionpart FOR EACH ROW
    EXECUTE FUNCTION refuse_proposed_words()
"""


class Migration(migrations.Migration):
    """Triggers."""

    dependencies: ClassVar = [
        ("conversations", "0024_trials"),
        ("runtime", "0002_walls"),
        ("governance", "0008_review_walls"),
    ]
    operations: ClassVar = [RoleSQL(BORN), RoleSQL(PROPOSED)]
