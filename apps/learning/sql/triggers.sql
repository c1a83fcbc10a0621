-- Triggers on the tables of learning.

-- learning_contradiction: Only a person dismisses a contradiction or reopens a dismissed one. A contradiction that is
-- gone may come back, open or dismissed as it was before.
CREATE TRIGGER check_contradiction BEFORE UPDATE
    ON learning_contradiction FOR EACH ROW EXECUTE FUNCTION check_contradiction();
CREATE TRIGGER refuse_illegal_transition BEFORE INSERT OR UPDATE
    ON learning_contradiction FOR EACH ROW
    EXECUTE FUNCTION refuse_illegal_transition('status', 'open', 'open>dismissed open>gone dismissed>open dismissed>gone gone>open gone>dismissed');
CREATE TRIGGER stamp_version BEFORE UPDATE ON learning_contradiction FOR EACH ROW EXECUTE FUNCTION stamp_version();

-- learning_digestrun: A run never changes after it is recorded.
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON learning_digestrun FOR EACH ROW EXECUTE FUNCTION refuse_change();

-- learning_editcluster: The edit that a cluster describes never changes. Only a person decides on it, and a worker may reopen
-- a dismissed one. Agents and workers cannot write while learning is frozen.
CREATE TRIGGER append_only BEFORE UPDATE OF tenant_id, agent_id, key, key_sha256, category, removed_text, added_text, taint
    ON learning_editcluster FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER freeze_learning BEFORE INSERT OR UPDATE OF status
    ON learning_editcluster FOR EACH ROW EXECUTE FUNCTION refuse_frozen_learning();
CREATE TRIGGER guard_edit_cluster BEFORE UPDATE OF status
    ON learning_editcluster FOR EACH ROW EXECUTE FUNCTION guard_edit_cluster();
CREATE TRIGGER refuse_illegal_transition BEFORE INSERT OR UPDATE
    ON learning_editcluster FOR EACH ROW EXECUTE FUNCTION refuse_illegal_transition('status', 'open', 'open>proposed open>dismissed proposed>open dismissed>open');
CREATE TRIGGER stamp_version BEFORE UPDATE ON learning_editcluster FOR EACH ROW EXECUTE FUNCTION stamp_version();

-- learning_editclustercase: A draft stays in its edit cluster.
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON learning_editclustercase FOR EACH ROW EXECUTE FUNCTION refuse_change();

-- learning_example: The text of an example and its approval never change. It can only be retired.
CREATE TRIGGER append_only BEFORE UPDATE OF tenant_id, agent_id, lesson_id, situation, draft, correction, masked_counts, keywords, approved_by, approved_at, taint
    ON learning_example FOR EACH ROW
    EXECUTE FUNCTION refuse_change();
CREATE TRIGGER refuse_illegal_transition BEFORE INSERT OR UPDATE
    ON learning_example FOR EACH ROW EXECUTE FUNCTION refuse_illegal_transition('status', 'approved', 'approved>retired');
CREATE TRIGGER stamp_version BEFORE UPDATE ON learning_example FOR EACH ROW EXECUTE FUNCTION stamp_version();

-- learning_extraction: A result never changes after it is recorded, and a member's own conversation with an assistant gets
-- none.
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON learning_extraction FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER refuse_member_talk BEFORE INSERT ON learning_extraction FOR EACH ROW EXECUTE FUNCTION refuse_member_talk();

-- learning_learningversion: The text and sources of a version never change, and a worker adds none while learning is frozen.
-- A rejected or withdrawn version cannot return, and a person or the tenant's settings decide which one is active.
CREATE TRIGGER append_only BEFORE UPDATE OF tenant_id, agent_id, number, previous_version_id, body, change_summary, lesson_ids, taint
    ON learning_learningversion FOR EACH ROW
    EXECUTE FUNCTION refuse_change();
CREATE TRIGGER freeze_learning BEFORE INSERT
    ON learning_learningversion FOR EACH ROW EXECUTE FUNCTION refuse_frozen_learning();
CREATE TRIGGER guard_learning_version BEFORE INSERT OR UPDATE OR DELETE
    ON learning_learningversion FOR EACH ROW EXECUTE FUNCTION guard_learning_version();
CREATE TRIGGER refuse_illegal_transition BEFORE INSERT OR UPDATE
    ON learning_learningversion FOR EACH ROW
    EXECUTE FUNCTION refuse_illegal_transition('status', 'pending', 'pending>active pending>rejected active>retired retired>active active>withdrawn retired>withdrawn');
CREATE TRIGGER stamp_version BEFORE UPDATE ON learning_learningversion FOR EACH ROW EXECUTE FUNCTION stamp_version();

-- learning_lesson: The text of a lesson and its first source never change and are never deleted. Counts and confidence may
-- change.
CREATE TRIGGER append_only BEFORE DELETE OR UPDATE OF tenant_id, agent_id, situation, problem, correction, source, dedup_key
    ON learning_lesson FOR EACH ROW EXECUTE FUNCTION refuse_change();

-- learning_lessoncase: A case never changes after it is recorded, so each correction is counted once.
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON learning_lessoncase FOR EACH ROW EXECUTE FUNCTION refuse_change();

-- tenants_tenantsettings: The next runs of memory tiers follow a change of the tenant's time zone.
CREATE TRIGGER move_tier_runs AFTER UPDATE OF timezone
    ON tenants_tenantsettings FOR EACH ROW WHEN (OLD.timezone <> NEW.timezone) EXECUTE FUNCTION move_tier_runs();

-- learning_tierrun: A run never changes after it is recorded.
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON learning_tierrun FOR EACH ROW EXECUTE FUNCTION refuse_change();

-- A trigger can only be attached by a role that may execute its function, so execution by everybody is taken away only here,
-- after the last table (those of desk, tools and webhooks come earlier) has its trigger. Triggers run without that right.
-- The cross-tenant role then owns the function, so that the check sees every conversation.
REVOKE ALL ON FUNCTION refuse_member_talk() FROM PUBLIC;
ALTER FUNCTION refuse_member_talk() OWNER TO @cross_tenant@;
