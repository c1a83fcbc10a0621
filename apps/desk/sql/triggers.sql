-- Triggers on the tables of desk.

-- desk_draft: A draft is decided or superseded once. None can exist for a member's own conversation with an assistant, which
-- colleagues cannot see.
CREATE TRIGGER refuse_illegal_transition BEFORE INSERT OR UPDATE
    ON desk_draft FOR EACH ROW EXECUTE FUNCTION refuse_illegal_transition('status', 'open', 'open>sent open>sent_edited open>discarded open>superseded');
CREATE TRIGGER refuse_member_talk BEFORE INSERT ON desk_draft FOR EACH ROW EXECUTE FUNCTION refuse_member_talk();
CREATE TRIGGER stamp_version BEFORE UPDATE ON desk_draft FOR EACH ROW EXECUTE FUNCTION stamp_version();

-- desk_escalation: An escalation is answered or dismissed once. None can exist for a member's own conversation with an
-- assistant, which colleagues cannot see.
CREATE TRIGGER refuse_illegal_transition BEFORE INSERT OR UPDATE
    ON desk_escalation FOR EACH ROW EXECUTE FUNCTION refuse_illegal_transition('status', 'open', 'open>answered open>dismissed');
CREATE TRIGGER refuse_member_talk BEFORE INSERT ON desk_escalation FOR EACH ROW EXECUTE FUNCTION refuse_member_talk();
CREATE TRIGGER stamp_version BEFORE UPDATE ON desk_escalation FOR EACH ROW EXECUTE FUNCTION stamp_version();

-- desk_report: A report concerns one reply and never changes its reason or author. It is settled or withdrawn once, and
-- an outcome is final. Explanation and correction can only be emptied, and only when the report is withdrawn.
CREATE TRIGGER append_only BEFORE UPDATE OF tenant_id, conversation_id, agent_id, message_id, reason_code, author, taint
    ON desk_report FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER check_report BEFORE INSERT ON desk_report FOR EACH ROW EXECUTE FUNCTION check_report();
CREATE TRIGGER refuse_illegal_transition BEFORE INSERT OR UPDATE
    ON desk_report FOR EACH ROW EXECUTE FUNCTION refuse_illegal_transition('status', 'open', 'open>resolved open>withdrawn');
CREATE TRIGGER refuse_change_of_resolution BEFORE UPDATE OF outcome, resolution, decided_by, decided_at
    ON desk_report FOR EACH ROW WHEN (OLD.status <> 'open') EXECUTE FUNCTION refuse_change();
CREATE TRIGGER stamp_version BEFORE UPDATE ON desk_report FOR EACH ROW EXECUTE FUNCTION stamp_version();
CREATE TRIGGER refuse_text_edit BEFORE UPDATE OF explanation, correction
    ON desk_report FOR EACH ROW WHEN (NEW.explanation NOT IN ('', OLD.explanation) OR NEW.correction NOT IN ('', OLD.correction) OR (NEW.status <> 'withdrawn' AND (NEW.explanation, NEW.correction) <> (OLD.explanation, OLD.correction)))
    EXECUTE FUNCTION refuse_change();

-- desk_sendrule: Every update raises the version of the rule and stamps the time.
CREATE TRIGGER stamp_version BEFORE UPDATE ON desk_sendrule FOR EACH ROW EXECUTE FUNCTION stamp_version();
