-- Triggers on the tables of lessons.

-- lessons_editcluster: The edit that a cluster describes never changes. Only a person decides on it, and a worker may reopen
-- a dismissed one. Agents and workers cannot write while learning is frozen.
CREATE TRIGGER append_only BEFORE UPDATE OF tenant_id, agent_id, key, key_sha256, habit, removed, added, taint
    ON lessons_editcluster FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER freeze_learning BEFORE INSERT OR UPDATE OF status
    ON lessons_editcluster FOR EACH ROW EXECUTE FUNCTION refuse_frozen_learning();
CREATE TRIGGER hold_edit_cluster BEFORE UPDATE OF status
    ON lessons_editcluster FOR EACH ROW EXECUTE FUNCTION hold_edit_cluster();
CREATE TRIGGER move_state BEFORE INSERT OR UPDATE
    ON lessons_editcluster FOR EACH ROW EXECUTE FUNCTION move_state('status', 'open', 'open>proposed open>dismissed proposed>open dismissed>open');
CREATE TRIGGER stamp_version BEFORE UPDATE ON lessons_editcluster FOR EACH ROW EXECUTE FUNCTION stamp_version();

-- lessons_editmember: A draft stays in its edit cluster.
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON lessons_editmember FOR EACH ROW EXECUTE FUNCTION refuse_change();

-- lessons_example: The text of an example and its approval never change. It can only be retired.
CREATE TRIGGER append_only BEFORE UPDATE OF tenant_id, agent_id, lesson_id, situation, draft, correction, masked, telling_words, approved_by, approved_at, taint
    ON lessons_example FOR EACH ROW
    EXECUTE FUNCTION refuse_change();
CREATE TRIGGER move_state BEFORE INSERT OR UPDATE
    ON lessons_example FOR EACH ROW EXECUTE FUNCTION move_state('status', 'approved', 'approved>retired');
CREATE TRIGGER stamp_version BEFORE UPDATE ON lessons_example FOR EACH ROW EXECUTE FUNCTION stamp_version();

-- lessons_learningversion: The text and sources of a version never change, and a worker adds none while learning is frozen.
-- A rejected or withdrawn version cannot return, and a person or the tenant's settings decide which one is active.
CREATE TRIGGER append_only BEFORE UPDATE OF tenant_id, agent_id, number, previous_version_id, body, change_summary, lesson_ids, taint
    ON lessons_learningversion FOR EACH ROW
    EXECUTE FUNCTION refuse_change();
CREATE TRIGGER freeze_learning BEFORE INSERT
    ON lessons_learningversion FOR EACH ROW EXECUTE FUNCTION refuse_frozen_learning();
CREATE TRIGGER hold_learning_version BEFORE INSERT OR UPDATE OR DELETE
    ON lessons_learningversion FOR EACH ROW EXECUTE FUNCTION hold_learning_version();
CREATE TRIGGER move_state BEFORE INSERT OR UPDATE
    ON lessons_learningversion FOR EACH ROW
    EXECUTE FUNCTION move_state('status', 'pending', 'pending>active pending>rejected active>retired retired>active active>withdrawn retired>withdrawn');
CREATE TRIGGER stamp_version BEFORE UPDATE ON lessons_learningversion FOR EACH ROW EXECUTE FUNCTION stamp_version();

-- lessons_lesson: The text of a lesson and its first source never change and are never deleted. Counts and confidence may
-- change.
CREATE TRIGGER append_only BEFORE DELETE OR UPDATE OF tenant_id, agent_id, situation, went_wrong, instead, source, dedup_key
    ON lessons_lesson FOR EACH ROW EXECUTE FUNCTION refuse_change();

-- lessons_lessoncase: A case never changes after it is recorded, so each correction is counted once.
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON lessons_lessoncase FOR EACH ROW EXECUTE FUNCTION refuse_change();
