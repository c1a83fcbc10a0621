-- Keeps the hash of an external agent's report, so that the same report sent again is known.
--
-- Called by: ReportWriter.ended (apps/runtime/external/turn_report.py)
-- Runs as: worker
-- One statement: the fence is checked by the statement that writes.
-- Locks: the turn's row
-- Parameters:
--   :turn    bigint   the turn
--   :fence   integer  the fence that its worker holds
--   :sha256  text     hash of the report
-- Returns: the turn's id; no row if the worker was overtaken

UPDATE runtime_turn
SET report_sha256 = :sha256
WHERE tenant_id = app_tenant()
  AND id = :turn
  AND fence = :fence
  AND status = 'running'
  AND NOT is_released
RETURNING id
