-- Triggers on the tables of switches.

-- switches_switch: A kill switch starts on and is lifted once. The next stop is a new row with its own reason.
CREATE TRIGGER move_state BEFORE INSERT OR UPDATE
    ON switches_switch FOR EACH ROW EXECUTE FUNCTION move_state('status', 'on', 'on>lifted');
CREATE TRIGGER stamp_version BEFORE UPDATE ON switches_switch FOR EACH ROW EXECUTE FUNCTION stamp_version();
