-- Triggers on the tables of conversations.

-- conversations_conversation: A new conversation must fit its agent, channel, member and parent, and starts open and
-- unverified. Customer, member, agent, tried proposal, record setting and runner are then final. A verification and a rating
-- are given once, an agent cannot end a conversation during a takeover, and an ended conversation is never reopened.
-- stamp_when_erased must sort after stamp_version, because triggers run in the order of their names and both set
-- updated_at.
CREATE TRIGGER check_delegated_conversation BEFORE INSERT
    ON conversations_conversation FOR EACH ROW WHEN (NEW.parent_id IS NOT NULL) EXECUTE FUNCTION check_delegated_conversation();
CREATE TRIGGER check_conversation_kind BEFORE INSERT ON conversations_conversation FOR EACH ROW EXECUTE FUNCTION check_conversation_kind();
CREATE TRIGGER refuse_proof_at_insert BEFORE INSERT
    ON conversations_conversation FOR EACH ROW WHEN (NEW.proven_at IS NOT NULL) EXECUTE FUNCTION refuse_change_of_customer_or_proof();
CREATE TRIGGER refuse_agent_status_change_during_takeover BEFORE UPDATE OF status
    ON conversations_conversation FOR EACH ROW WHEN (OLD.taken_over_at IS NOT NULL) EXECUTE FUNCTION refuse_agent_status_change_during_takeover();
CREATE TRIGGER refuse_change_of_member_or_agent BEFORE UPDATE
    ON conversations_conversation FOR EACH ROW WHEN (NEW.member_user_id IS DISTINCT FROM OLD.member_user_id OR NEW.agent_id <> OLD.agent_id)
    EXECUTE FUNCTION refuse_change_of_member_or_agent();
CREATE TRIGGER refuse_change_of_customer_or_proof BEFORE UPDATE
    ON conversations_conversation FOR EACH ROW WHEN (NEW.end_user_key <> OLD.end_user_key OR (OLD.proven_at IS NOT NULL AND (NEW.proven_at IS DISTINCT FROM OLD.proven_at OR NEW.proven_key_id IS DISTINCT FROM OLD.proven_key_id)))
    EXECUTE FUNCTION refuse_change_of_customer_or_proof();
CREATE TRIGGER refuse_change_of_rating BEFORE UPDATE
    ON conversations_conversation FOR EACH ROW WHEN (OLD.rated_at IS NOT NULL AND (NEW.rating IS DISTINCT FROM OLD.rating OR NEW.rating_comment <> OLD.rating_comment OR NEW.rated_at IS DISTINCT FROM OLD.rated_at))
    EXECUTE FUNCTION refuse_change_of_rating();
CREATE TRIGGER refuse_change_of_off_the_record BEFORE UPDATE
    ON conversations_conversation FOR EACH ROW WHEN (NEW.off_the_record <> OLD.off_the_record) EXECUTE FUNCTION refuse_change_of_off_the_record();
CREATE TRIGGER refuse_change_of_external_agent BEFORE UPDATE
    ON conversations_conversation FOR EACH ROW WHEN (NEW.has_external_agent <> OLD.has_external_agent) EXECUTE FUNCTION refuse_change_of_external_agent();
CREATE TRIGGER refuse_change_of_trial BEFORE UPDATE
    ON conversations_conversation FOR EACH ROW WHEN (NEW.trial_proposal_id IS DISTINCT FROM OLD.trial_proposal_id OR NEW.channel <> OLD.channel AND 'playground' IN (NEW.channel, OLD.channel) OR OLD.channel = 'playground' AND NEW.off_the_record <> OLD.off_the_record)
    EXECUTE FUNCTION refuse_change_of_trial();
CREATE TRIGGER refuse_illegal_transition BEFORE INSERT OR UPDATE
    ON conversations_conversation FOR EACH ROW EXECUTE FUNCTION refuse_illegal_transition('status', 'open', 'open>resolved open>abandoned');
CREATE TRIGGER stamp_version BEFORE UPDATE ON conversations_conversation FOR EACH ROW EXECUTE FUNCTION stamp_version();
CREATE TRIGGER stamp_when_erased BEFORE UPDATE OF erased_at
    ON conversations_conversation FOR EACH ROW WHEN (NEW.erased_at IS DISTINCT FROM OLD.erased_at)
    EXECUTE FUNCTION stamp_erasure();

-- conversations_inboundevent: An event never changes, except that one turn takes it once, that it enters the transcript once
-- and that its words are emptied for a conversation off the record. An event on another agent's line is refused.
CREATE TRIGGER refuse_change_of_turn BEFORE UPDATE OF turn_id
    ON conversations_inboundevent FOR EACH ROW WHEN (OLD.turn_id IS NOT NULL AND NEW.turn_id IS DISTINCT FROM OLD.turn_id)
    EXECUTE FUNCTION refuse_change();
CREATE TRIGGER refuse_leaving_transcript BEFORE UPDATE OF is_in_transcript
    ON conversations_inboundevent FOR EACH ROW WHEN (OLD.is_in_transcript AND NOT NEW.is_in_transcript)
    EXECUTE FUNCTION refuse_change();
CREATE TRIGGER append_only BEFORE DELETE OR UPDATE OF tenant_id, conversation_id, kind, idempotency_key, sender_name, line_key, text, text_sha256, received_at, due_at
    ON conversations_inboundevent FOR EACH ROW
    EXECUTE FUNCTION refuse_change_except_erasure('text', 'text_sha256', 'sender_name');
CREATE TRIGGER refuse_line_of_another_agent BEFORE INSERT
    ON conversations_inboundevent FOR EACH ROW WHEN (NEW.line_key <> '') EXECUTE FUNCTION refuse_line_of_another_agent();

-- conversations_message: A message never changes, except that its words are emptied for a conversation off the record.
CREATE TRIGGER append_only BEFORE DELETE OR UPDATE
    ON conversations_message FOR EACH ROW EXECUTE FUNCTION refuse_change_except_erasure('text', 'tool_calls', 'api_message');
