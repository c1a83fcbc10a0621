-- Functions of desk: what triggers, policies, indexes and the product's own statements call.

-- Trigger function that refuses a report unless it concerns a reply of this agent in this conversation, on the record.
-- Replies in a member's own conversation with an assistant cannot be reported.
CREATE OR REPLACE FUNCTION check_report() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (
        SELECT 1 FROM conversations_message AS reply JOIN conversations_conversation AS thread
            ON thread.tenant_id = reply.tenant_id AND thread.id = reply.conversation_id
         WHERE reply.tenant_id = NEW.tenant_id AND reply.id = NEW.message_id AND thread.id = NEW.conversation_id
           AND thread.agent_id = NEW.agent_id AND reply.sender = 'agent' AND reply.is_reply
           AND NOT thread.off_the_record AND thread.member_user_id IS NULL
    ) THEN
        RETURN NEW;
    END IF;
    RAISE EXCEPTION 'Only a reply of an agent to its customer, on the record, can be reported.'
        USING ERRCODE = 'insufficient_privilege';
END $$;
