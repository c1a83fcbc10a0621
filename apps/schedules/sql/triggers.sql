-- Triggers on the tables of schedules.

-- schedules_schedule: A new schedule is a draft and moves only along the listed transitions; a deprecated one never runs
-- again.
CREATE TRIGGER refuse_illegal_transition BEFORE INSERT OR UPDATE
    ON schedules_schedule FOR EACH ROW
    EXECUTE FUNCTION refuse_illegal_transition('status', 'draft', 'draft>approved draft>deprecated approved>paused approved>deprecated paused>approved paused>deprecated');
CREATE TRIGGER stamp_version BEFORE UPDATE ON schedules_schedule FOR EACH ROW EXECUTE FUNCTION stamp_version();

-- schedules_schedulerun: Append-only.
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON schedules_schedulerun FOR EACH ROW EXECUTE FUNCTION refuse_change();
