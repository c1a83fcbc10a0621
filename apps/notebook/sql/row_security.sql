-- Row security of the tables of notebook: which rows each database role reaches, and what it may do with them.
-- What the acting roles may write of governed tables is not here: `sync_policy` derives it from the policy.

-- notebook_note: An agent sees its own notes; in a turn only the notes without a customer and those of the verified customer
-- it serves. In a turn it writes only notes of that customer, or notes without a customer in a scheduled turn. A note
-- without a customer never carries a customer's words, because every customer's prompt may include it. No agent adds a note
-- from an off-the-record conversation. Workers only drop notes.
ALTER TABLE notebook_note ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY notebook_note_tenant ON notebook_note USING (tenant_id = app_tenant()) WITH CHECK (tenant_id = app_tenant());
CREATE POLICY notebook_note_agent ON notebook_note AS RESTRICTIVE TO @agent@
    USING (agent_id = app_agent() AND (end_user_key = '' OR app_customer() IS NULL OR (end_user_key = app_customer() AND app_customer_is_proven())))
    WITH CHECK ((agent_id = app_agent() AND (end_user_key = '' OR app_customer() IS NULL OR (end_user_key = app_customer() AND app_customer_is_proven()))) AND (end_user_key <> '' OR taint <> 'customer'));
CREATE POLICY notebook_note_agent_insert ON notebook_note AS RESTRICTIVE FOR INSERT TO @agent@
    WITH CHECK ((app_customer() IS NULL OR (end_user_key = app_customer() AND app_customer_is_proven())) AND NOT EXISTS (
        SELECT 1 FROM conversations_conversation AS thread WHERE thread.id = conversation_id AND thread.off_the_record));
CREATE POLICY notebook_note_agent_update ON notebook_note AS RESTRICTIVE FOR UPDATE TO @agent@
    USING (app_customer() IS NULL OR (end_user_key = app_customer() AND app_customer_is_proven()));
CREATE POLICY notebook_note_cross_tenant ON notebook_note TO @cross_tenant@ USING (true) WITH CHECK (true);
GRANT SELECT ON notebook_note TO @operator@, @worker@, @agent@, @staff@;
GRANT SELECT (id, updated_at, kind, status, tenant_id) ON notebook_note TO @cross_tenant@;
