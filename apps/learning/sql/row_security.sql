-- Row security of the tables of learning: which rows each database role reaches, and what it may do with them.
-- What the acting roles may write of governed tables is not here: `sync_policy` derives it from the policy.

-- learning_contradiction: Rows of the tenant. Agents have no access.
ALTER TABLE learning_contradiction ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY learning_contradiction_tenant ON learning_contradiction
    USING (tenant_id = app_tenant())
    WITH CHECK (tenant_id = app_tenant());
GRANT SELECT ON learning_contradiction TO @operator@, @worker@, @staff@;

-- learning_contradictionscan: Workers lease the check of an agent here and record its extent, members and support
-- staff read it, agents have no access. The cross-tenant role reads leases and requests.
ALTER TABLE learning_contradictionscan ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY learning_contradictionscan_tenant ON learning_contradictionscan
    USING (tenant_id = app_tenant())
    WITH CHECK (tenant_id = app_tenant());
CREATE POLICY learning_contradictionscan_cross_tenant ON learning_contradictionscan TO @cross_tenant@
    USING (true)
    WITH CHECK (true);
GRANT SELECT ON learning_contradictionscan TO @operator@, @staff@;
GRANT SELECT, INSERT, UPDATE (lease_until, scan_date, scanned_at, text_count, pair_count, is_complete, requested_at) ON
    learning_contradictionscan TO @worker@;
GRANT SELECT (lease_until, scan_date, agent_id, tenant_id, requested_at) ON learning_contradictionscan TO @cross_tenant@;

-- learning_digestclaim: Workers lease the digest of an agent here, members and support staff read it, agents have no access.
-- The cross-tenant role reads leases and retry times.
ALTER TABLE learning_digestclaim ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY learning_digestclaim_tenant ON learning_digestclaim
    USING (tenant_id = app_tenant())
    WITH CHECK (tenant_id = app_tenant());
CREATE POLICY learning_digestclaim_cross_tenant ON learning_digestclaim TO @cross_tenant@ USING (true) WITH CHECK (true);
GRANT SELECT ON learning_digestclaim TO @operator@, @staff@;
GRANT SELECT, INSERT, UPDATE (lease_until, claimed_at, last_digest_at, next_attempt_at, failures, failure_code) ON learning_digestclaim
    TO @worker@;
GRANT SELECT (lease_until, last_digest_at, next_attempt_at, agent_id, tenant_id) ON learning_digestclaim TO @cross_tenant@;

-- learning_digestrun: Workers add rows, members and support staff read them, agents have no access.
ALTER TABLE learning_digestrun ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY learning_digestrun_tenant ON learning_digestrun
    USING (tenant_id = app_tenant())
    WITH CHECK (tenant_id = app_tenant());
GRANT SELECT ON learning_digestrun TO @operator@, @staff@;
GRANT SELECT, INSERT ON learning_digestrun TO @worker@;

-- learning_editcluster: Rows of the tenant. Agents have no access.
ALTER TABLE learning_editcluster ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY learning_editcluster_tenant ON learning_editcluster
    USING (tenant_id = app_tenant())
    WITH CHECK (tenant_id = app_tenant());
GRANT SELECT ON learning_editcluster TO @operator@, @worker@, @staff@;

-- learning_editclustercase: Rows of the tenant. Workers add the drafts of an edit cluster, agents have no access.
ALTER TABLE learning_editclustercase ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY learning_editclustercase_tenant ON learning_editclustercase
    USING (tenant_id = app_tenant())
    WITH CHECK (tenant_id = app_tenant());
GRANT SELECT ON learning_editclustercase TO @operator@, @staff@;
GRANT SELECT, INSERT ON learning_editclustercase TO @worker@;

-- learning_example: Rows of the tenant. Workers read examples when they build a prompt, agents have no access.
ALTER TABLE learning_example ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY learning_example_tenant ON learning_example
    USING (tenant_id = app_tenant())
    WITH CHECK (tenant_id = app_tenant());
GRANT SELECT ON learning_example TO @operator@, @worker@, @staff@;

-- learning_extraction: Workers add rows, members and support staff read them, agents have no access. The cross-tenant role
-- reads which conversations have a result.
ALTER TABLE learning_extraction ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY learning_extraction_tenant ON learning_extraction
    USING (tenant_id = app_tenant())
    WITH CHECK (tenant_id = app_tenant());
CREATE POLICY learning_extraction_cross_tenant ON learning_extraction TO @cross_tenant@ USING (true) WITH CHECK (true);
GRANT SELECT ON learning_extraction TO @operator@, @staff@;
GRANT SELECT, INSERT ON learning_extraction TO @worker@;
GRANT SELECT (id, conversation_id) ON learning_extraction TO @cross_tenant@;

-- learning_extractionclaim: Workers lease a conversation for extraction here, members and support staff read it, agents have
-- no access. The cross-tenant role reads leases and retry times.
ALTER TABLE learning_extractionclaim ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY learning_extractionclaim_tenant ON learning_extractionclaim
    USING (tenant_id = app_tenant())
    WITH CHECK (tenant_id = app_tenant());
CREATE POLICY learning_extractionclaim_cross_tenant ON learning_extractionclaim TO @cross_tenant@ USING (true) WITH CHECK (true);
GRANT SELECT ON learning_extractionclaim TO @operator@, @staff@;
GRANT SELECT, INSERT, UPDATE (lease_until, next_attempt_at, failures, failure_code) ON learning_extractionclaim TO @worker@;
GRANT SELECT (id, lease_until, next_attempt_at, conversation_id, tenant_id) ON learning_extractionclaim TO @cross_tenant@;

-- learning_learningversion: Rows of the tenant. Agents have no access and get the active version only in the prompt. The
-- cross-tenant role reads which versions are pending review, rejected or withdrawn.
ALTER TABLE learning_learningversion ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY learning_learningversion_tenant ON learning_learningversion
    USING (tenant_id = app_tenant())
    WITH CHECK (tenant_id = app_tenant());
CREATE POLICY learning_learningversion_cross_tenant ON learning_learningversion TO @cross_tenant@ USING (true) WITH CHECK (true);
GRANT SELECT ON learning_learningversion TO @operator@, @worker@, @staff@;
GRANT SELECT (id, updated_at, status, agent_id, tenant_id) ON learning_learningversion TO @cross_tenant@;

-- learning_lesson: Rows of the tenant. Workers add lessons and count their cases, agents have no access. The cross-tenant
-- role reads which lessons no digest has read.
ALTER TABLE learning_lesson ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY learning_lesson_tenant ON learning_lesson USING (tenant_id = app_tenant()) WITH CHECK (tenant_id = app_tenant());
CREATE POLICY learning_lesson_cross_tenant ON learning_lesson TO @cross_tenant@ USING (true) WITH CHECK (true);
GRANT SELECT ON learning_lesson TO @operator@, @staff@;
GRANT SELECT, INSERT, UPDATE (support_count, confidence, last_seen_at, last_case_recorded_at, learning_version_id) ON learning_lesson TO
    @worker@;
GRANT SELECT (id, support_count, confidence, last_case_recorded_at, agent_id, tenant_id, learning_version_id) ON learning_lesson TO
    @cross_tenant@;

-- learning_lessoncase: Rows of the tenant. Workers add cases, agents have no access. The cross-tenant role reads which
-- corrections have a case.
ALTER TABLE learning_lessoncase ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY learning_lessoncase_tenant ON learning_lessoncase
    USING (tenant_id = app_tenant())
    WITH CHECK (tenant_id = app_tenant());
CREATE POLICY learning_lessoncase_cross_tenant ON learning_lessoncase TO @cross_tenant@ USING (true) WITH CHECK (true);
GRANT SELECT ON learning_lessoncase TO @operator@, @staff@;
GRANT SELECT, INSERT ON learning_lessoncase TO @worker@;
GRANT SELECT (id, source, source_id, tenant_id, lesson_id, conversation_id) ON learning_lessoncase TO @cross_tenant@;

-- learning_reflection: Workers create the daily review of an agent and update it until it has a result. Members and support
-- staff read it, agents have no access. The cross-tenant role reads results, leases and retry times.
ALTER TABLE learning_reflection ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY learning_reflection_tenant ON learning_reflection
    USING (tenant_id = app_tenant())
    WITH CHECK (tenant_id = app_tenant());
CREATE POLICY learning_reflection_cross_tenant ON learning_reflection TO @cross_tenant@ USING (true) WITH CHECK (true);
CREATE POLICY learning_reflection_update_while_waiting ON learning_reflection AS RESTRICTIVE FOR UPDATE TO @worker@
    USING (verdict = 'waiting')
    WITH CHECK (true);
GRANT SELECT ON learning_reflection TO @operator@, @staff@;
GRANT SELECT, INSERT, UPDATE (verdict, reason, conversation_ids, skill_ids, model, is_stand_in, input_tokens, output_tokens,
    lease_until, next_attempt_at, failures, cost_micro_usd, proposal_ids) ON learning_reflection TO @worker@;
GRANT SELECT (id, day, verdict, lease_until, next_attempt_at, agent_id, tenant_id) ON learning_reflection TO @cross_tenant@;

-- learning_tierclock: The next run of each memory tier. Members may request a run, workers also hold the lease, agents have
-- no access. The cross-tenant role reads runs and leases.
ALTER TABLE learning_tierclock ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY learning_tierclock_tenant ON learning_tierclock
    USING (tenant_id = app_tenant())
    WITH CHECK (tenant_id = app_tenant());
CREATE POLICY learning_tierclock_cross_tenant ON learning_tierclock TO @cross_tenant@ USING (true) WITH CHECK (true);
GRANT SELECT, INSERT, UPDATE (next_run_at, requested_by) ON learning_tierclock TO @operator@;
GRANT SELECT, INSERT, UPDATE (next_run_at, lease_until, failures, requested_by) ON learning_tierclock TO @worker@;
GRANT SELECT ON learning_tierclock TO @staff@;
GRANT SELECT (id, tier, next_run_at, lease_until, requested_by, agent_id, tenant_id) ON learning_tierclock TO @cross_tenant@;

-- learning_tierrun: Workers add rows, members and support staff read them, agents have no access.
ALTER TABLE learning_tierrun ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY learning_tierrun_tenant ON learning_tierrun
    USING (tenant_id = app_tenant())
    WITH CHECK (tenant_id = app_tenant());
GRANT SELECT ON learning_tierrun TO @operator@, @staff@;
GRANT SELECT, INSERT ON learning_tierrun TO @worker@;
