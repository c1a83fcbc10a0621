-- Triggers on the tables of conversations.

-- conversations_conversation: A new conversation must fit its agent, channel, member and parent, and starts open and
-- unverified. Customer, member, agent, tried proposal, record setting and runner are then final. A verification and a rating
-- are given once, an agent cannot end a conversation during a takeover, and an ended conversation is never reopened.
-- stamp_when_forgotten must sort after stamp_version, because triggers run in the order of their names and both set
-- updated_at.
CREATE TRIGGER born_below BEFORE INSERT
    ON conversations_conversation FOR EACH ROW WHEN (NEW.parent_id IS NOT NULL) EXECUTE FUNCTION born_below();
CREATE TRIGGER born_for_whom BEFORE INSERT ON conversations_conversation FOR EACH ROW EXECUTE FUNCTION born_for_whom();
CREATE TRIGGER born_unproven BEFORE INSERT
    ON conversations_conversation FOR EACH ROW WHEN (NEW.proven_at IS NOT NULL) EXECUTE FUNCTION keep_the_proof();
CREATE TRIGGER keep_for_its_holder BEFORE UPDATE OF status
    ON conversations_conversation FOR EACH ROW WHEN (OLD.held_at IS NOT NULL) EXECUTE FUNCTION keep_for_its_holder();
CREATE TRIGGER keep_the_member BEFORE UPDATE
    ON conversations_conversation FOR EACH ROW WHEN (NEW.member_user_id IS DISTINCT FROM OLD.member_user_id OR NEW.agent_id <> OLD.agent_id)
    EXECUTE FUNCTION keep_the_member();
CREATE TRIGGER keep_the_proof BEFORE UPDATE
    ON conversations_conversation FOR EACH ROW WHEN (NEW.end_user_key <> OLD.end_user_key OR (OLD.proven_at IS NOT NULL AND (NEW.proven_at IS DISTINCT FROM OLD.proven_at OR NEW.proven_key_id IS DISTINCT FROM OLD.proven_key_id)))
    EXECUTE FUNCTION keep_the_proof();
CREATE TRIGGER keep_the_rating BEFORE UPDATE
    ON conversations_conversation FOR EACH ROW WHEN (OLD.rated_at IS NOT NULL AND (NEW.rating IS DISTINCT FROM OLD.rating OR NEW.rating_comment <> OLD.rating_comment OR NEW.rated_at IS DISTINCT FROM OLD.rated_at))
    EXECUTE FUNCTION keep_the_rating();
CREATE TRIGGER keep_the_record BEFORE UPDATE
    ON conversations_conversation FOR EACH ROW WHEN (NEW.off_the_record <> OLD.off_the_record) EXECUTE FUNCTION keep_the_record();
CREATE TRIGGER keep_the_runner BEFORE UPDATE
    ON conversations_conversation FOR EACH ROW WHEN (NEW.runs_elsewhere <> OLD.runs_elsewhere) EXECUTE FUNCTION keep_the_runner();
CREATE TRIGGER keep_the_trial BEFORE UPDATE
    ON conversations_conversation FOR EACH ROW WHEN (NEW.tried_proposal_id IS DISTINCT FROM OLD.tried_proposal_id OR NEW.channel <> OLD.channel AND 'playground' IN (NEW.channel, OLD.channel) OR OLD.channel = 'playground' AND NEW.off_the_record <> OLD.off_the_record)
    EXECUTE FUNCTION keep_the_trial();
CREATE TRIGGER move_state BEFORE INSERT OR UPDATE
    ON conversations_conversation FOR EACH ROW EXECUTE FUNCTION move_state('status', 'open', 'open>resolved open>abandoned');
CREATE TRIGGER stamp_version BEFORE UPDATE ON conversations_conversation FOR EACH ROW EXECUTE FUNCTION stamp_version();
CREATE TRIGGER stamp_when_forgotten BEFORE UPDATE OF forgotten_at
    ON conversations_conversation FOR EACH ROW WHEN (NEW.forgotten_at IS DISTINCT FROM OLD.forgotten_at)
    EXECUTE FUNCTION stamp_forgetting();

-- conversations_inboundevent: An event never changes, except that one turn takes it once and that its words are emptied for
-- a conversation off the record. An event on another agent's line is refused.
CREATE TRIGGER answered_once BEFORE UPDATE OF turn_id
    ON conversations_inboundevent FOR EACH ROW WHEN (OLD.turn_id IS NOT NULL AND NEW.turn_id IS DISTINCT FROM OLD.turn_id)
    EXECUTE FUNCTION refuse_change();
CREATE TRIGGER append_only BEFORE DELETE OR UPDATE OF tenant_id, conversation_id, kind, idempotency_key, sender_name, line_key, text, text_sha256, received_at, due_at
    ON conversations_inboundevent FOR EACH ROW
    EXECUTE FUNCTION refuse_all_but_forgetting('text', 'text_sha256', 'sender_name');
CREATE TRIGGER keep_to_its_line BEFORE INSERT
    ON conversations_inboundevent FOR EACH ROW WHEN (NEW.line_key <> '') EXECUTE FUNCTION keep_to_its_line();

-- conversations_message: A message never changes, except that its words are emptied for a conversation off the record.
CREATE TRIGGER append_only BEFORE DELETE OR UPDATE
    ON conversations_message FOR EACH ROW EXECUTE FUNCTION refuse_all_but_forgetting('text', 'tool_calls', 'wire');
