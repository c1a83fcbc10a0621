-- Triggers on the tables of review.

-- review_bulkdecision: A bulk action never changes after it is recorded.
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON review_bulkdecision FOR EACH ROW EXECUTE FUNCTION refuse_change();

-- review_bulkitem: The proposal and the version that the person read never change. Each item is decided once, as done or
-- refused.
CREATE TRIGGER append_only BEFORE DELETE OR UPDATE OF tenant_id, decision_id, proposal_id, read_at
    ON review_bulkitem FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER move_state BEFORE INSERT OR UPDATE
    ON review_bulkitem FOR EACH ROW EXECUTE FUNCTION move_state('state', 'waiting', 'waiting>done waiting>refused');
