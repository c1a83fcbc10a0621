-- Triggers on the tables of switches.

-- kill_switches_killswitch: A kill switch starts on and is switched off once. The next stop is a new row with its own reason.
CREATE TRIGGER refuse_illegal_transition BEFORE INSERT OR UPDATE
    ON kill_switches_killswitch FOR EACH ROW EXECUTE FUNCTION refuse_illegal_transition('status', 'on', 'on>off');
CREATE TRIGGER stamp_version BEFORE UPDATE ON kill_switches_killswitch FOR EACH ROW EXECUTE FUNCTION stamp_version();
