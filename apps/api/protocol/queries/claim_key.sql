-- Claims an idempotency key for a request. A second request under the same key waits here until the first one's transaction ends.
--
-- Called by: _claim_key (apps/api/protocol/idempotency.py)
-- Runs as: operator, agent
-- One statement: of two requests one gets the key.
-- Locks: the key's row
-- Parameters:
--   :tenant  bigint   the tenant
--   :caller  text     the agent or member who asks
--   :key     text     the key
--   :sha256  text     hash of the request
--   :hours   integer  how long the response is kept
--   :lost    integer  seconds after which an unfinished request counts as lost, and its key may be claimed again
-- Returns: the id of the key's row; no row if the key is in use

INSERT INTO api_idempotencyrecord AS kept (tenant_id, caller, key, request_sha256, expires_at)
VALUES (:tenant, :caller, :key, :sha256, statement_timestamp() + interval '1 hour' * :hours)
ON CONFLICT (tenant_id, caller, key) DO UPDATE
SET request_sha256 = excluded.request_sha256,
    status = 0,
    body = '',
    location = '',
    row_id = NULL,
    claimed_at = statement_timestamp(),
    expires_at = excluded.expires_at
WHERE kept.expires_at <= statement_timestamp()
   OR kept.status = 0 AND kept.claimed_at <= statement_timestamp() - interval '1 second' * :lost
RETURNING kept.id
