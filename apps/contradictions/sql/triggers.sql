-- Triggers on the tables of contradictions.

-- contradictions_contradiction: Only a person dismisses a contradiction or reopens a dismissed one. A contradiction that is
-- gone may come back, open or dismissed as it was before.
CREATE TRIGGER hold_contradiction BEFORE UPDATE
    ON contradictions_contradiction FOR EACH ROW EXECUTE FUNCTION hold_contradiction();
CREATE TRIGGER move_state BEFORE INSERT OR UPDATE
    ON contradictions_contradiction FOR EACH ROW
    EXECUTE FUNCTION move_state('status', 'open', 'open>dismissed open>gone dismissed>open dismissed>gone gone>open gone>dismissed');
CREATE TRIGGER stamp_version BEFORE UPDATE ON contradictions_contradiction FOR EACH ROW EXECUTE FUNCTION stamp_version();
