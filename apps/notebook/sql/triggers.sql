-- Triggers on the tables of notebook.

-- notebook_note: A kill switch that freezes learning stops agents and workers from writing texts. A note is open until it is
-- done or dropped, and its content is final after that. Agents and workers cannot write as an operator.
CREATE TRIGGER freeze_learning BEFORE INSERT OR UPDATE OF text
    ON notebook_note FOR EACH ROW EXECUTE FUNCTION refuse_frozen_learning();
CREATE TRIGGER keep_settled BEFORE UPDATE OF text, due_at, author, taint
    ON notebook_note FOR EACH ROW WHEN (OLD.status <> 'open') EXECUTE FUNCTION keep_settled_note();
CREATE TRIGGER move_state BEFORE INSERT OR UPDATE
    ON notebook_note FOR EACH ROW EXECUTE FUNCTION move_state('status', 'open', 'open>done open>dropped');
CREATE TRIGGER sign_note BEFORE INSERT OR UPDATE OF text, author, taint
    ON notebook_note FOR EACH ROW EXECUTE FUNCTION sign_note();
CREATE TRIGGER stamp_version BEFORE UPDATE ON notebook_note FOR EACH ROW EXECUTE FUNCTION stamp_version();
