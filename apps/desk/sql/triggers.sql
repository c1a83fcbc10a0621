-- Triggers on the tables of desk.

-- desk_draft: A draft is decided or superseded once. None can exist for a member's own conversation with an assistant, which
-- colleagues cannot see.
CREATE TRIGGER move_state BEFORE INSERT OR UPDATE
    ON desk_draft FOR EACH ROW EXECUTE FUNCTION move_state('status', 'open', 'open>sent open>sent_edited open>discarded open>superseded');
CREATE TRIGGER refuse_talk BEFORE INSERT ON desk_draft FOR EACH ROW EXECUTE FUNCTION refuse_talk();
CREATE TRIGGER stamp_version BEFORE UPDATE ON desk_draft FOR EACH ROW EXECUTE FUNCTION stamp_version();

-- desk_escalation: An escalation is answered or dismissed once. None can exist for a member's own conversation with an
-- assistant, which colleagues cannot see.
CREATE TRIGGER move_state BEFORE INSERT OR UPDATE
    ON desk_escalation FOR EACH ROW EXECUTE FUNCTION move_state('status', 'open', 'open>answered open>dismissed');
CREATE TRIGGER refuse_talk BEFORE INSERT ON desk_escalation FOR EACH ROW EXECUTE FUNCTION refuse_talk();
CREATE TRIGGER stamp_version BEFORE UPDATE ON desk_escalation FOR EACH ROW EXECUTE FUNCTION stamp_version();

-- desk_sendrule: Every update raises the version of the rule and stamps the time.
CREATE TRIGGER stamp_version BEFORE UPDATE ON desk_sendrule FOR EACH ROW EXECUTE FUNCTION stamp_version();
