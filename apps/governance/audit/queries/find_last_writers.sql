-- Finds who last wrote each field of some governed rows, now or as of a moment, from their latest change records.
--
-- Called by: last_writers (apps/governance/audit/row_history.py)
-- Runs as: worker, operator, staff
-- One statement: one for all rows of a session's prompt.
-- Locks: nothing
-- Parameters:
--   :kinds   text[]       the rows' models
--   :ids     bigint[]     the rows' ids, in the same order
--   :tenant  bigint       their tenant
--   :moment  timestamptz  the moment, null for now
--   :most    integer      change records of each row to read: the time must not grow with how often a row was saved
-- Returns: a row for each field that is known:
--   kind           text     the row's model
--   pk             bigint   the row
--   key            text     the field
--   version_after  integer  the version in which it was written
--   actor_label    text     who wrote it
--   actor_role     text     in which role
--   taint          text     the source of what was written

SELECT DISTINCT ON (subject.kind, subject.pk, field.key)
    subject.kind, subject.pk, field.key, read.version_after, read.actor_label, read.actor_role, read.taint
FROM unnest(:kinds::text[], :ids::bigint[]) AS subject (kind, pk),
    LATERAL (
        SELECT
            latest.*,
            text.before,
            text.after,
            -- Behind a record whose text was erased, nobody knows what was written.
            bool_or(text.id IS NULL) OVER (ORDER BY latest.id DESC) AS is_unknown
        FROM (
            SELECT *
            FROM governance_changerecord AS record
            WHERE record.tenant_id = :tenant
              AND record.subject_type = subject.kind
              AND record.subject_id = subject.pk
              AND (:moment::timestamptz IS NULL OR record.created_at <= :moment::timestamptz)
            ORDER BY record.id DESC
            LIMIT :most
        ) AS latest
        LEFT JOIN governance_changetext AS text ON text.record_id = latest.id AND text.tenant_id = latest.tenant_id
    ) AS read,
    LATERAL jsonb_each(read.after) AS field
WHERE NOT read.is_unknown
  AND field.value IS DISTINCT FROM read.before -> field.key
ORDER BY subject.kind, subject.pk, field.key, read.id DESC
