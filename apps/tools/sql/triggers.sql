-- Triggers on the tables of tools.

-- tools_agenttool: Every update raises the version, and Python refuses a write that read an earlier one.
CREATE TRIGGER stamp_version BEFORE UPDATE ON tools_agenttool FOR EACH ROW EXECUTE FUNCTION stamp_version();

-- tools_toolapproval: A new approval waits; it can be approved, refused, or used once after it was approved. Members'
-- conversations with assistants get none, because the desk must not show them.
CREATE TRIGGER refuse_illegal_transition BEFORE INSERT OR UPDATE
    ON tools_toolapproval FOR EACH ROW EXECUTE FUNCTION refuse_illegal_transition('status', 'waiting', 'waiting>approved waiting>refused approved>refused approved>consumed');
CREATE TRIGGER refuse_member_talk BEFORE INSERT ON tools_toolapproval FOR EACH ROW EXECUTE FUNCTION refuse_member_talk();
CREATE TRIGGER stamp_version BEFORE UPDATE ON tools_toolapproval FOR EACH ROW EXECUTE FUNCTION stamp_version();

-- tools_toolserver: Every update raises the version, and Python refuses a write that read an earlier one.
CREATE TRIGGER stamp_version BEFORE UPDATE ON tools_toolserver FOR EACH ROW EXECUTE FUNCTION stamp_version();
