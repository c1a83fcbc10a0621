-- Triggers on the tables of runtime.

-- runtime_modelcall: A model call never changes, except that its words are emptied for a conversation off the record. Calls
-- in conversations of an external agent come only with its report.
CREATE TRIGGER append_only BEFORE DELETE OR UPDATE
    ON runtime_modelcall FOR EACH ROW EXECUTE FUNCTION refuse_change_except_erasure('user_turn', 'assistant_message', 'text');
CREATE TRIGGER check_external_model_call BEFORE INSERT ON runtime_modelcall FOR EACH ROW EXECUTE FUNCTION check_external_model_call();

-- runtime_session: A session never changes, so the prompt sent to a model can be shown later unaltered.
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON runtime_session FOR EACH ROW EXECUTE FUNCTION refuse_change();

-- runtime_sessionpart: A session keeps its parts. Words of a proposal pending review are refused outside the playground
-- conversation that tries it.
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON runtime_sessionpart FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER refuse_proposal_text_outside_playground BEFORE INSERT
    ON runtime_sessionpart FOR EACH ROW EXECUTE FUNCTION refuse_proposal_text_outside_playground();

-- runtime_snapshotpart: A prompt part never changes, since many sessions share it.
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON runtime_snapshotpart FOR EACH ROW EXECUTE FUNCTION refuse_change();

-- runtime_toolstep: A tool step ends once and is never deleted after that.
CREATE TRIGGER end_tool_step_once BEFORE INSERT OR UPDATE OR DELETE
    ON runtime_toolstep FOR EACH ROW EXECUTE FUNCTION end_tool_step_once();

-- runtime_turn: A turn starts running and ends once, as done, failed or cancelled. After that no column changes. A turn of
-- an external agent needs its report, and accepts one.
CREATE TRIGGER refuse_change_of_finished_turn BEFORE UPDATE
    ON runtime_turn FOR EACH ROW WHEN (OLD.status <> 'running') EXECUTE FUNCTION refuse_change();
CREATE TRIGGER refuse_change_of_turn_report BEFORE UPDATE OF report_sha256
    ON runtime_turn FOR EACH ROW WHEN (OLD.report_sha256 <> '' AND NEW.report_sha256 <> OLD.report_sha256) EXECUTE FUNCTION refuse_change_of_turn_report();
CREATE TRIGGER check_external_turn BEFORE INSERT OR UPDATE OF external_user_turn, report_sha256, status
    ON runtime_turn FOR EACH ROW WHEN (NEW.external_user_turn IS NOT NULL OR NEW.report_sha256 <> '' OR NEW.status = 'done')
    EXECUTE FUNCTION check_external_turn();
CREATE TRIGGER refuse_illegal_transition BEFORE INSERT OR UPDATE
    ON runtime_turn FOR EACH ROW EXECUTE FUNCTION refuse_illegal_transition('status', 'running', 'running>done running>failed running>cancelled');
