-- Finds the keys of all files that a tenant's skills name, or did name at any time.
--
-- Called by: _sweep_tenant (apps/skills/attachments/orphan_sweep.py)
-- Runs as: worker
-- One statement: a single read.
-- Locks: nothing
-- Parameters:
--   :tenant  bigint  the tenant
-- Returns: the keys

SELECT file ->> 'key'
FROM skills_skill AS skill, jsonb_array_elements(skill.attachments) AS file
WHERE skill.tenant_id = :tenant
UNION
SELECT file ->> 'key'
FROM governance_changerecord AS record
JOIN governance_changetext AS text ON text.record_id = record.id AND text.tenant_id = record.tenant_id,
    LATERAL (VALUES (text.before), (text.after)) AS version (row),
    LATERAL jsonb_array_elements(coalesce(version.row -> 'attachments', '[]')) AS file
WHERE record.tenant_id = :tenant AND record.subject_type = 'skills.skill'
