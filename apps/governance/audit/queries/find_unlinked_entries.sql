-- Finds what is in the audit log's tables and not in its hash chain: entries without a link, texts without a record.
--
-- Called by: unlinked_entries (apps/governance/audit/log_reader.py)
-- Runs as: worker, operator
-- One statement: all tables are read in one snapshot.
-- Locks: nothing
-- Parameters:
--   :tenant  bigint  the tenant
-- Returns: a row for each finding:
--   entry   text    its kind
--   row_id  bigint  its row
--   detail  text    what is wrong, in a sentence

SELECT 'change record' AS entry, record.id AS row_id, 'It has no link.' AS detail
FROM governance_changerecord AS record
WHERE record.tenant_id = :tenant
  AND NOT EXISTS (
      SELECT 1
      FROM governance_auditlink AS link
      WHERE link.tenant_id = record.tenant_id AND link.entry_type = 'change' AND link.entry_id = record.id
  )
UNION ALL
SELECT 'refusal', refusal.id, 'It has no link.'
FROM governance_refusal AS refusal
WHERE refusal.tenant_id = :tenant
  AND NOT EXISTS (
      SELECT 1
      FROM governance_auditlink AS link
      WHERE link.tenant_id = refusal.tenant_id AND link.entry_type = 'refusal' AND link.entry_id = refusal.id
  )
UNION ALL
SELECT 'text of change record', words.record_id, 'There is no such record in this tenant.'
FROM governance_changetext AS words
WHERE words.tenant_id = :tenant
  AND NOT EXISTS (
      SELECT 1
      FROM governance_changerecord AS record
      WHERE record.tenant_id = words.tenant_id AND record.id = words.record_id
  )
ORDER BY 1, 2
