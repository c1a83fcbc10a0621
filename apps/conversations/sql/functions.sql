-- Functions of conversations: what triggers, policies, indexes and the product's own statements call.

-- Trigger function for a new conversation below another one, in which one agent asks another (agent handoff). It refuses a
-- conversation that an agent opens itself instead of the worker that runs its turn, one with another customer, record
-- setting or depth, an agent pair that no operator has allowed, and a circle of agents.
CREATE OR REPLACE FUNCTION check_delegated_conversation() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    parent conversations_conversation;
BEGIN
    SELECT * INTO parent FROM conversations_conversation WHERE tenant_id = NEW.tenant_id AND id = NEW.parent_id;
    IF app_agent() IS NOT NULL THEN
        RAISE EXCEPTION 'An agent hands over to another one within a turn, through its tools.' USING ERRCODE = 'check_violation';
    END IF;
    IF parent.id IS NULL OR NEW.hops <> parent.hops + 1 OR NEW.off_the_record <> parent.off_the_record
            OR NEW.end_user_key <> parent.end_user_key THEN
        RAISE EXCEPTION 'A handoff to another agent concerns the same customer, is off the record if its parent is, and is one level below it.'
            USING ERRCODE = 'check_violation';
    END IF;
    IF NOT EXISTS (SELECT 1 FROM tenants_invokableagent
                    WHERE tenant_id = NEW.tenant_id AND agent_id = parent.agent_id AND callee_id = NEW.agent_id) THEN
        RAISE EXCEPTION 'This agent has no permission to hand over to that one.' USING ERRCODE = 'check_violation';
    END IF;
    IF EXISTS (
        WITH RECURSIVE above AS (
            SELECT parent.parent_id AS next_id, parent.agent_id
            UNION ALL
            SELECT thread.parent_id, thread.agent_id FROM above JOIN conversations_conversation AS thread
                ON thread.tenant_id = NEW.tenant_id AND thread.id = above.next_id)
        SELECT 1 FROM above WHERE above.agent_id = NEW.agent_id) THEN
        RAISE EXCEPTION 'Agents may not hand over to each other in a circle.' USING ERRCODE = 'check_violation';
    END IF;
    RETURN NEW;
END $$;

-- Trigger function for a new conversation. It refuses a customer's conversation with an assistant or on the channels console
-- and playground, and a member's conversation that somebody else opens or that pairs the wrong kind of agent with the
-- channel. A proposal tried in the playground must be open and concern this agent or all agents. It reads the proposal with
-- the rights of the writer, so nobody can try a proposal they may not read.
CREATE OR REPLACE FUNCTION check_conversation_kind() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    of_agent text;
BEGIN
    SELECT flavour INTO of_agent FROM tenants_agent WHERE tenant_id = NEW.tenant_id AND id = NEW.agent_id;
    IF NEW.member_user_id IS NULL AND (NEW.channel IN ('console', 'playground') OR of_agent = 'assistant') THEN
        RAISE EXCEPTION 'Only members converse with an assistant, in the console.'
            USING ERRCODE = 'check_violation';
    END IF;
    IF NEW.member_user_id IS NOT NULL AND (app_agent() IS NOT NULL OR NEW.member_user_id IS DISTINCT FROM app_member()
            OR (of_agent IS DISTINCT FROM 'assistant') <> (NEW.channel = 'playground')) THEN
        RAISE EXCEPTION 'Members have conversations of their own with assistants only; they try other agents in the playground.'
            USING ERRCODE = 'check_violation';
    END IF;
    IF NEW.trial_proposal_id IS NOT NULL AND NOT EXISTS (
            SELECT 1 FROM governance_proposal AS proposal WHERE proposal.tenant_id = NEW.tenant_id
               AND proposal.id = NEW.trial_proposal_id AND proposal.state = 'open'
               AND coalesce(proposal.agent_id, NEW.agent_id) = NEW.agent_id) THEN
        RAISE EXCEPTION 'The playground tries an open proposal about this agent, or about all agents.' USING ERRCODE = 'check_violation';
    END IF;
    RETURN NEW;
END $$;

-- Returns the conversations off the record with words that are due for deletion, in all tenants. The functions that collect
-- due work call it as the cross-tenant role. The rule itself is in find_due_erasure.
CREATE OR REPLACE FUNCTION list_due_off_the_record_erasures()
    RETURNS TABLE(tenant_id bigint, row_id bigint, due_at timestamp with time zone)
    LANGUAGE sql STABLE SET search_path = public, pg_temp AS $$
    SELECT thread.tenant_id, thread.id, erasure.due_at FROM conversations_conversation AS thread
        CROSS JOIN LATERAL find_due_erasure(thread.tenant_id, thread.id) AS erasure WHERE thread.off_the_record
$$;
REVOKE ALL ON FUNCTION list_due_off_the_record_erasures() FROM PUBLIC;
ALTER FUNCTION list_due_off_the_record_erasures() OWNER TO @cross_tenant@;

-- Returns one row if the words of this conversation off the record are due for deletion: something was written since they
-- were last deleted, the conversation has ended or nobody has written for 15 minutes (an hour in the playground), no turn is
-- running, and no reply still waits for delivery to a webhook. list_due_off_the_record_erasures calls it for all tenants. A worker calls it
-- again after it has locked the conversation, because a message may have arrived in between.
CREATE OR REPLACE FUNCTION find_due_erasure(for_tenant_id bigint, for_conversation_id bigint)
    RETURNS TABLE(due_at timestamp with time zone)
    LANGUAGE sql STABLE AS $$
    SELECT latest.at FROM conversations_conversation AS thread CROSS JOIN LATERAL (
        SELECT greatest(
            CASE WHEN thread.status = 'open' THEN greatest(
                (SELECT max(event.received_at) FROM conversations_inboundevent AS event
                  WHERE event.tenant_id = thread.tenant_id AND event.conversation_id = thread.id),
                (SELECT max(message.created_at) FROM conversations_message AS message
                  WHERE message.tenant_id = thread.tenant_id AND message.conversation_id = thread.id))
            ELSE thread.updated_at END,
            (SELECT max(turn.finished_at) FROM runtime_turn AS turn
              WHERE turn.tenant_id = thread.tenant_id AND turn.conversation_id = thread.id)) AS at) AS latest
     WHERE thread.tenant_id = for_tenant_id AND thread.id = for_conversation_id AND thread.off_the_record
       AND latest.at > coalesce(thread.erased_at, '-infinity')
       AND (thread.status <> 'open' OR latest.at < statement_timestamp() - CASE thread.channel
           WHEN 'playground' THEN interval '1 hour' ELSE interval '15 minutes' END)
       AND NOT EXISTS (SELECT 1 FROM runtime_turn AS turn WHERE turn.tenant_id = thread.tenant_id
           AND turn.conversation_id = thread.id AND turn.status = 'running')
       -- A reply goes to webhooks first, for as long as its delivery is retried: a day and a half, plus up to a quarter of it.
       AND NOT EXISTS (
           SELECT 1 FROM webhooks_delivery AS delivery JOIN webhooks_webhook AS webhook
               ON webhook.tenant_id = delivery.tenant_id AND webhook.id = delivery.webhook_id
            WHERE delivery.tenant_id = thread.tenant_id AND delivery.conversation_id = thread.id
              AND delivery.event = 'reply' AND delivery.status = 'waiting' AND webhook.is_active
              AND delivery.created_at > statement_timestamp() - interval '2 days')
$$;

-- Returns true if an update does nothing but empty the named columns of a row that belongs to a conversation off the record.
-- The triggers that keep journal rows unchanged call it to let this one change through.
CREATE OR REPLACE FUNCTION is_off_the_record_erasure(before jsonb, after jsonb, columns text[]) RETURNS boolean
    LANGUAGE sql STABLE AS $$
    SELECT before - columns = after - columns
       AND NOT EXISTS (SELECT 1 FROM unnest(columns) AS each
                        WHERE coalesce(after -> each, 'null') NOT IN ('null', '""', '[]', '{}'))
       AND EXISTS (SELECT 1 FROM conversations_conversation AS thread
                    WHERE thread.tenant_id = (before ->> 'tenant_id')::bigint AND thread.off_the_record
                      AND thread.id = coalesce((before ->> 'conversation_id')::bigint, (
                          SELECT turn.conversation_id FROM runtime_turn AS turn
                           WHERE turn.tenant_id = (before ->> 'tenant_id')::bigint
                             AND turn.id = (before ->> 'turn_id')::bigint)))
$$;

-- Returns true if this line (such as a phone number) has an identity card of another agent of the tenant. The trigger
-- function refuse_line_of_another_agent and the code that receives messages call it. It is SECURITY DEFINER because an agent cannot read
-- the cards of other agents, and it only answers yes or no for the current tenant.
CREATE OR REPLACE FUNCTION is_line_of_another_agent(for_line_key text, for_agent_id bigint) RETURNS boolean
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
    SELECT EXISTS (SELECT 1 FROM personas_identitycard
                    WHERE tenant_id = app_tenant() AND line_key = for_line_key AND for_line_key <> '' AND agent_id <> for_agent_id)
$$;
REVOKE ALL ON FUNCTION is_line_of_another_agent(text,bigint) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION is_line_of_another_agent(text,bigint) TO @agent@, @operator@, @staff@, @worker@;
ALTER FUNCTION is_line_of_another_agent(text,bigint) OWNER TO @cross_tenant@;

-- Trigger function that refuses a change of status by an agent while a person has taken the conversation over. That person
-- ends it.
CREATE OR REPLACE FUNCTION refuse_agent_status_change_during_takeover() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF pg_has_role(current_user, '@agent@'::regrole, 'USAGE') THEN
        RAISE EXCEPTION 'A colleague has taken this conversation over and ends it.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    RETURN NEW;
END $$;

-- Trigger function on agents: it refuses to turn an assistant into an agent for customers, or back, once it has a
-- conversation. It is SECURITY DEFINER because conversations of other members with an assistant count too, and row security
-- hides them from the admin of the agent.
CREATE OR REPLACE FUNCTION refuse_change_of_flavour() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    IF EXISTS (SELECT 1 FROM conversations_conversation WHERE tenant_id = NEW.tenant_id AND agent_id = NEW.id) THEN
        RAISE EXCEPTION 'This agent has conversations already, so whom it serves cannot be changed. Create another agent.'
            USING ERRCODE = 'check_violation';
    END IF;
    RETURN NEW;
END $$;

-- Trigger function that refuses to change the member or the agent of an existing conversation.
CREATE OR REPLACE FUNCTION refuse_change_of_member_or_agent() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'The member of a conversation cannot be changed.' USING ERRCODE = 'check_violation';
END $$;

-- Trigger function that refuses to open a conversation as verified, to change its customer, and to change a recorded
-- verification. A customer is verified once, after the conversation opens, by a governed write of its own.
CREATE OR REPLACE FUNCTION refuse_change_of_customer_or_proof() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'The customer of a conversation cannot be changed, and is proven once, after it has opened.'
        USING ERRCODE = 'check_violation';
END $$;

-- Trigger function that refuses a second rating of a conversation.
CREATE OR REPLACE FUNCTION refuse_change_of_rating() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'A conversation is rated once.' USING ERRCODE = 'check_violation';
END $$;

-- Trigger function that refuses to move a conversation on or off the record after it has opened: its customer was promised
-- one or the other.
CREATE OR REPLACE FUNCTION refuse_change_of_off_the_record() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'Whether a conversation is off the record is decided when it opens and cannot be changed.'
        USING ERRCODE = 'check_violation';
END $$;

-- Trigger function that refuses to move a conversation between our workers and an external agent after it has opened.
CREATE OR REPLACE FUNCTION refuse_change_of_external_agent() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'Whether the agent of a conversation is external is decided when it opens and cannot be changed.' USING ERRCODE = 'check_violation';
END $$;

-- Trigger function that refuses to change the proposal that a playground conversation tries, and to move a conversation into
-- or out of the playground.
CREATE OR REPLACE FUNCTION refuse_change_of_trial() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'A conversation cannot move into or out of the playground, and the proposal that it tries cannot be changed.' USING ERRCODE = 'check_violation';
END $$;

-- Trigger function that refuses an inbound event if its line belongs to another agent than that of the conversation. A line
-- without an identity card is free for every agent.
CREATE OR REPLACE FUNCTION refuse_line_of_another_agent() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF is_line_of_another_agent(NEW.line_key, (SELECT agent_id FROM conversations_conversation
                                          WHERE tenant_id = NEW.tenant_id AND id = NEW.conversation_id)) THEN
        RAISE EXCEPTION 'What arrives on a line is for the agent of that line.' USING ERRCODE = 'check_violation';
    END IF;
    RETURN NEW;
END $$;

-- Trigger function for append-only tables that hold the words of conversations: it refuses every delete and every update,
-- except one that empties the columns named in its arguments for a conversation off the record.
CREATE OR REPLACE FUNCTION refuse_change_except_erasure() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'UPDATE' THEN
        IF is_off_the_record_erasure(to_jsonb(OLD), to_jsonb(NEW), TG_ARGV) THEN
            RETURN NEW;
        END IF;
    END IF;
    RAISE EXCEPTION '% is append-only.', TG_TABLE_NAME USING ERRCODE = 'check_violation';
END $$;

-- Trigger function on session parts: it refuses a prompt part with words of a proposal unless the session belongs to the
-- playground conversation that tries this proposal. So words pending review never reach a customer, even if the code that
-- builds prompts has a bug.
CREATE OR REPLACE FUNCTION refuse_proposal_text_outside_playground() RETURNS trigger LANGUAGE plpgsql AS $$
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
               AND thread.trial_proposal_id::text = of_proposal) THEN
            RAISE EXCEPTION 'Words pending review may only stand in the prompt of the playground conversation that tries them.'
                USING ERRCODE = 'check_violation';
        END IF;
    END LOOP;
    RETURN NEW;
END $$;

-- Trigger function that refuses a row about a member's own conversation with an assistant in tables that other people,
-- webhooks or learning read. It is SECURITY DEFINER because the writer may be unable to see that conversation, and would
-- then pass the check.
CREATE OR REPLACE FUNCTION refuse_member_talk() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    IF EXISTS (SELECT 1 FROM conversations_conversation AS thread WHERE thread.tenant_id = NEW.tenant_id
            AND thread.id = NEW.conversation_id AND thread.member_user_id IS NOT NULL) THEN
        RAISE EXCEPTION 'A member''s own conversation with an assistant reaches no desk, webhook or lesson.'
            USING ERRCODE = 'check_violation';
    END IF;
    RETURN NEW;
END $$;

-- Trigger function that gives a conversation the moment of forgetting as its time of change. Otherwise the forgetting itself
-- would count as a later change, and the conversation would be due again.
CREATE OR REPLACE FUNCTION stamp_erasure() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.updated_at := NEW.erased_at;
    RETURN NEW;
END $$;
