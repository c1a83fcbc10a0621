-- Triggers on the tables of runtime.

-- runtime_modelcall: A model call never changes, except that its words are emptied for a conversation off the record. Calls
-- in conversations of an external agent come only with its report.
CREATE TRIGGER append_only BEFORE DELETE OR UPDATE
    ON runtime_modelcall FOR EACH ROW EXECUTE FUNCTION refuse_all_but_forgetting('asked', 'said', 'text');
CREATE TRIGGER refuse_calls_of_ours BEFORE INSERT ON runtime_modelcall FOR EACH ROW EXECUTE FUNCTION refuse_calls_of_ours();

-- runtime_session: A session never changes, so the prompt sent to a model can be shown later unaltered.
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON runtime_session FOR EACH ROW EXECUTE FUNCTION refuse_change();

-- runtime_sessionpart: A session keeps its parts. Words of a proposal pending review are refused outside the playground
-- conversation that tries it.
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON runtime_sessionpart FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER refuse_proposed_words BEFORE INSERT
    ON runtime_sessionpart FOR EACH ROW EXECUTE FUNCTION refuse_proposed_words();

-- runtime_snapshotpart: A prompt part never changes, since many sessions share it.
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON runtime_snapshotpart FOR EACH ROW EXECUTE FUNCTION refuse_change();

-- runtime_toolstep: A tool step ends once and is never deleted after that.
CREATE TRIGGER end_tool_step_once BEFORE INSERT OR UPDATE OR DELETE
    ON runtime_toolstep FOR EACH ROW EXECUTE FUNCTION end_tool_step_once();

-- runtime_turn: A turn starts running and ends once, as done, failed or cancelled. After that no column changes. A turn of
-- an external agent needs its report, and accepts one.
CREATE TRIGGER finished_turn_stays BEFORE UPDATE
    ON runtime_turn FOR EACH ROW WHEN (OLD.status <> 'running') EXECUTE FUNCTION refuse_change();
CREATE TRIGGER keep_the_report BEFORE UPDATE OF report_sha256
    ON runtime_turn FOR EACH ROW WHEN (OLD.report_sha256 <> '' AND NEW.report_sha256 <> OLD.report_sha256) EXECUTE FUNCTION keep_the_report();
CREATE TRIGGER keep_turns_taken_elsewhere BEFORE INSERT OR UPDATE OF framed, report_sha256, status
    ON runtime_turn FOR EACH ROW WHEN (NEW.framed IS NOT NULL OR NEW.report_sha256 <> '' OR NEW.status = 'done')
    EXECUTE FUNCTION keep_turns_taken_elsewhere();
CREATE TRIGGER move_state BEFORE INSERT OR UPDATE
    ON runtime_turn FOR EACH ROW EXECUTE FUNCTION move_state('status', 'running', 'running>done running>failed running>cancelled');
