-- Row security of the tables of lessons: which rows each database role reaches, and what it may do with them.
-- What the acting roles may write of governed tables is not here: `sync_policy` derives it from the policy.

-- lessons_editcluster: Rows of the tenant. Agents have no access.
ALTER TABLE lessons_editcluster ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY lessons_editcluster_tenant ON lessons_editcluster
    USING (tenant_id = app_tenant())
    WITH CHECK (tenant_id = app_tenant());
GRANT SELECT ON lessons_editcluster TO @operator@, @worker@, @staff@;

-- lessons_editmember: Rows of the tenant. Workers add the drafts of an edit cluster, agents have no access.
ALTER TABLE lessons_editmember ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY lessons_editmember_tenant ON lessons_editmember
    USING (tenant_id = app_tenant())
    WITH CHECK (tenant_id = app_tenant());
GRANT SELECT ON lessons_editmember TO @operator@, @staff@;
GRANT SELECT, INSERT ON lessons_editmember TO @worker@;

-- lessons_example: Rows of the tenant. Workers read examples when they build a prompt, agents have no access.
ALTER TABLE lessons_example ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY lessons_example_tenant ON lessons_example
    USING (tenant_id = app_tenant())
    WITH CHECK (tenant_id = app_tenant());
GRANT SELECT ON lessons_example TO @operator@, @worker@, @staff@;

-- lessons_learningversion: Rows of the tenant. Agents have no access and get the active version only in the prompt. The
-- cross-tenant role reads which versions are pending review, rejected or withdrawn.
ALTER TABLE lessons_learningversion ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY lessons_learningversion_tenant ON lessons_learningversion
    USING (tenant_id = app_tenant())
    WITH CHECK (tenant_id = app_tenant());
CREATE POLICY lessons_learningversion_crossing ON lessons_learningversion TO @crossing@ USING (true) WITH CHECK (true);
GRANT SELECT ON lessons_learningversion TO @operator@, @worker@, @staff@;
GRANT SELECT (id, updated_at, status, agent_id, tenant_id) ON lessons_learningversion TO @crossing@;

-- lessons_lesson: Rows of the tenant. Workers add lessons and count their cases, agents have no access. The cross-tenant
-- role reads which lessons no digest has read.
ALTER TABLE lessons_lesson ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY lessons_lesson_tenant ON lessons_lesson USING (tenant_id = app_tenant()) WITH CHECK (tenant_id = app_tenant());
CREATE POLICY lessons_lesson_crossing ON lessons_lesson TO @crossing@ USING (true) WITH CHECK (true);
GRANT SELECT ON lessons_lesson TO @operator@, @staff@;
GRANT SELECT, INSERT, UPDATE (support_count, confidence, last_seen_at, noted_at, digested_in_id) ON lessons_lesson TO
    @worker@;
GRANT SELECT (support_count, confidence, noted_at, agent_id, tenant_id, digested_in_id) ON lessons_lesson TO @crossing@;

-- lessons_lessoncase: Rows of the tenant. Workers add cases, agents have no access. The cross-tenant role reads which
-- corrections have a case.
ALTER TABLE lessons_lessoncase ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY lessons_lessoncase_tenant ON lessons_lessoncase
    USING (tenant_id = app_tenant())
    WITH CHECK (tenant_id = app_tenant());
CREATE POLICY lessons_lessoncase_crossing ON lessons_lessoncase TO @crossing@ USING (true) WITH CHECK (true);
GRANT SELECT ON lessons_lessoncase TO @operator@, @staff@;
GRANT SELECT, INSERT ON lessons_lessoncase TO @worker@;
GRANT SELECT (source, source_id, tenant_id) ON lessons_lessoncase TO @crossing@;
