-- Row security of the tables of conversations: which rows each database role reaches, and what it may do with them.
-- What the acting roles may write of governed tables is not here: `sync_policy` derives it from the policy.

-- conversations_conversation: An agent sees its own conversations, and within a turn only those of the turn's customer. A
-- member's own conversation with an assistant is visible to that member and, while it acts for them, to the assistant.
-- Workers see all rows of the tenant. The cross-tenant role reads the columns that the search for due work needs.
ALTER TABLE conversations_conversation ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY conversations_conversation_tenant ON conversations_conversation
    USING (tenant_id = app_tenant())
    WITH CHECK (tenant_id = app_tenant());
CREATE POLICY conversations_conversation_agent ON conversations_conversation AS RESTRICTIVE TO @agent@
    USING (agent_id = app_agent() AND (app_customer() IS NULL OR end_user_key = app_customer()))
    WITH CHECK (agent_id = app_agent() AND (app_customer() IS NULL OR end_user_key = app_customer()));
CREATE POLICY conversations_conversation_cross_tenant ON conversations_conversation TO @cross_tenant@ USING (true) WITH CHECK (true);
CREATE POLICY conversations_conversation_talk ON conversations_conversation AS RESTRICTIVE TO @operator@, @staff@, @agent@
    USING (member_user_id IS NULL OR member_user_id = app_member());
GRANT SELECT ON conversations_conversation TO @operator@, @worker@, @agent@, @staff@;
GRANT SELECT (id, updated_at, channel, status, origin, resolved_at, agent_id, tenant_id, off_the_record, taken_over_at,
    parent_id, erased_at, member_user_id, has_external_agent, quarantined_at) ON conversations_conversation TO @cross_tenant@;

-- conversations_inboundevent: An event is visible with its conversation. An agent may only add customer messages that no
-- turn has taken yet. Into a member's own conversation only that member writes, so agents and workers are refused there.
-- Workers mark the turn that took an event and empty the text when it is forgotten.
ALTER TABLE conversations_inboundevent ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY conversations_inboundevent_tenant ON conversations_inboundevent
    USING (tenant_id = app_tenant())
    WITH CHECK (tenant_id = app_tenant());
CREATE POLICY conversations_inboundevent_agent ON conversations_inboundevent AS RESTRICTIVE TO @agent@
    USING (EXISTS (SELECT 1 FROM conversations_conversation AS thread WHERE thread.id = conversation_id))
    WITH CHECK ((EXISTS (SELECT 1 FROM conversations_conversation AS thread WHERE thread.id = conversation_id)) AND (kind = 'message' AND turn_id IS NULL));
CREATE POLICY conversations_inboundevent_cross_tenant ON conversations_inboundevent TO @cross_tenant@ USING (true) WITH CHECK (true);
CREATE POLICY conversations_inboundevent_talk ON conversations_inboundevent AS RESTRICTIVE TO @operator@, @staff@
    USING (EXISTS (SELECT 1 FROM conversations_conversation AS thread WHERE thread.id = conversations_inboundevent.conversation_id));
CREATE POLICY conversations_inboundevent_talk_insert ON conversations_inboundevent AS RESTRICTIVE FOR INSERT
    TO @agent@, @worker@ WITH CHECK (NOT EXISTS (
    SELECT 1 FROM conversations_conversation AS thread WHERE thread.id = conversation_id AND thread.member_user_id IS NOT NULL));
GRANT SELECT, INSERT ON conversations_inboundevent TO @operator@, @agent@;
GRANT SELECT, INSERT, UPDATE (sender_name, text, text_sha256, turn_id, is_in_transcript) ON conversations_inboundevent TO @worker@;
GRANT SELECT ON conversations_inboundevent TO @staff@;
GRANT SELECT (id, kind, idempotency_key, received_at, turn_id, conversation_id, tenant_id, due_at) ON
    conversations_inboundevent TO @cross_tenant@;

-- conversations_message: A message is visible with its conversation. Workers write the transcript, and members add replies
-- of their own. In a member's own conversation only the worker that runs the assistant writes. Workers update a message only
-- to forget words off the record, and a trigger refuses everything else.
ALTER TABLE conversations_message ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY conversations_message_tenant ON conversations_message
    USING (tenant_id = app_tenant())
    WITH CHECK (tenant_id = app_tenant());
CREATE POLICY conversations_message_agent ON conversations_message AS RESTRICTIVE TO @agent@
    USING (EXISTS (SELECT 1 FROM conversations_conversation AS thread WHERE thread.id = conversation_id))
    WITH CHECK (EXISTS (SELECT 1 FROM conversations_conversation AS thread WHERE thread.id = conversation_id));
CREATE POLICY conversations_message_cross_tenant ON conversations_message TO @cross_tenant@ USING (true) WITH CHECK (true);
CREATE POLICY conversations_message_talk ON conversations_message AS RESTRICTIVE TO @operator@, @staff@
    USING (EXISTS (SELECT 1 FROM conversations_conversation AS thread WHERE thread.id = conversations_message.conversation_id));
CREATE POLICY conversations_message_talk_insert ON conversations_message AS RESTRICTIVE FOR INSERT
    TO @operator@ WITH CHECK (NOT EXISTS (
    SELECT 1 FROM conversations_conversation AS thread WHERE thread.id = conversation_id AND thread.member_user_id IS NOT NULL));
GRANT SELECT, INSERT ON conversations_message TO @operator@;
GRANT SELECT, INSERT, UPDATE (text, tool_calls, api_message) ON conversations_message TO @worker@;
GRANT SELECT ON conversations_message TO @agent@, @staff@;
GRANT SELECT (id, sender, text, created_at, conversation_id, tenant_id) ON conversations_message TO @cross_tenant@;
