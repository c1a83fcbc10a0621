-- Triggers on the tables of learning.

-- learning_digestrun: A run never changes after it is recorded.
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON learning_digestrun FOR EACH ROW EXECUTE FUNCTION refuse_change();

-- learning_extraction: A result never changes after it is recorded, and a member's own conversation with an assistant gets
-- none.
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON learning_extraction FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER refuse_talk BEFORE INSERT ON learning_extraction FOR EACH ROW EXECUTE FUNCTION refuse_talk();

-- learning_tierrun: A run never changes after it is recorded.
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON learning_tierrun FOR EACH ROW EXECUTE FUNCTION refuse_change();

-- A trigger can only be attached by a role that may execute its function, so execution by everybody is taken away only here,
-- after the last table (those of desk, tools and webhooks come earlier) has its trigger. Triggers run without that right.
-- The cross-tenant role then owns the function, so that the check sees every conversation.
REVOKE ALL ON FUNCTION refuse_talk() FROM PUBLIC;
ALTER FUNCTION refuse_talk() OWNER TO @crossing@;
