-- Triggers on the tables of comments.

-- comments_comment: The proposal, author and source of a comment never change. Its text can only be emptied, and a
-- withdrawal is final.
CREATE TRIGGER append_only BEFORE UPDATE OF tenant_id, proposal_id, agent_id, author, taint
    ON comments_comment FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER move_state BEFORE INSERT OR UPDATE
    ON comments_comment FOR EACH ROW EXECUTE FUNCTION move_state('status', 'stands', 'stands>withdrawn');
CREATE TRIGGER stamp_version BEFORE UPDATE ON comments_comment FOR EACH ROW EXECUTE FUNCTION stamp_version();
CREATE TRIGGER words_only_go BEFORE UPDATE OF text
    ON comments_comment FOR EACH ROW WHEN (NEW.text <> '' AND NEW.text <> OLD.text) EXECUTE FUNCTION refuse_change();
