-- Triggers on the tables of notebook.

-- notebook_note: A kill switch that freezes learning stops agents and workers from writing texts. A note is open until it is
-- done or dropped, and its content is final after that. Agents and workers cannot write as an operator.
CREATE TRIGGER freeze_learning BEFORE INSERT OR UPDATE OF text
    ON notebook_note FOR EACH ROW EXECUTE FUNCTION refuse_frozen_learning();
CREATE TRIGGER refuse_change_of_closed_note BEFORE UPDATE OF text, due_at, author, taint
    ON notebook_note FOR EACH ROW WHEN (OLD.status <> 'open') EXECUTE FUNCTION refuse_change_of_closed_note();
CREATE TRIGGER refuse_illegal_transition BEFORE INSERT OR UPDATE
    ON notebook_note FOR EACH ROW EXECUTE FUNCTION refuse_illegal_transition('status', 'open', 'open>done open>dropped');
CREATE TRIGGER refuse_note_signed_as_person BEFORE INSERT OR UPDATE OF text, author, taint
    ON notebook_note FOR EACH ROW EXECUTE FUNCTION refuse_note_signed_as_person();
CREATE TRIGGER stamp_version BEFORE UPDATE ON notebook_note FOR EACH ROW EXECUTE FUNCTION stamp_version();
