-- Triggers on the tables of review.

-- review_bulkdecision: A bulk action never changes after it is recorded.
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON review_bulkdecision FOR EACH ROW EXECUTE FUNCTION refuse_change();

-- review_bulkitem: The proposal and the version that the person read never change. Each item is decided once, as done or
-- refused.
CREATE TRIGGER append_only BEFORE DELETE OR UPDATE OF tenant_id, decision_id, proposal_id, read_version
    ON review_bulkitem FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER refuse_illegal_transition BEFORE INSERT OR UPDATE
    ON review_bulkitem FOR EACH ROW EXECUTE FUNCTION refuse_illegal_transition('state', 'waiting', 'waiting>done waiting>refused');

-- review_comment: The proposal, author and source of a comment never change. Its text can only be emptied, and a
-- withdrawal is final.
CREATE TRIGGER append_only BEFORE UPDATE OF tenant_id, proposal_id, agent_id, author, taint
    ON review_comment FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER refuse_illegal_transition BEFORE INSERT OR UPDATE
    ON review_comment FOR EACH ROW EXECUTE FUNCTION refuse_illegal_transition('status', 'active', 'active>withdrawn');
CREATE TRIGGER stamp_version BEFORE UPDATE ON review_comment FOR EACH ROW EXECUTE FUNCTION stamp_version();
CREATE TRIGGER refuse_text_edit BEFORE UPDATE OF text
    ON review_comment FOR EACH ROW WHEN (NEW.text <> '' AND NEW.text <> OLD.text) EXECUTE FUNCTION refuse_change();
