-- Counts an attempt to sign in, before a password is looked at, and says from when on the next one is.
--
-- Called by: _count_attempt (apps/tenants/accounts/sign_in_throttle.py)
-- Runs as: login
-- One statement: of many attempts at once each is counted, and none is looked at that has to wait.
-- Locks: the subject's row
-- Parameters:
--   :subject    text     hash of what is counted: a name, an address, or a person's codes
--   :allowed    integer  attempts that may fail before the next one waits
--   :first      integer  seconds of the first wait; each further one is twice as long
--   :longest    integer  seconds of the longest wait
--   :forgotten  integer  hours after which a subject that was left alone begins anew
--   :forgiven   integer  attempts that are forgiven per hour
-- Returns: the number of attempts; no row where this one has to wait

INSERT INTO tenants_signinattempts AS known (subject, attempts, last_attempt_at, refused_until)
VALUES (:subject, 1, statement_timestamp(), statement_timestamp())
ON CONFLICT (subject) DO UPDATE
SET (attempts, last_attempt_at, refused_until) = (
    SELECT
        counted.attempts,
        statement_timestamp(),
        statement_timestamp() + interval '1 second' * CASE
            WHEN counted.attempts < :allowed THEN 0
            ELSE least(:longest, :first * power(2, least(counted.attempts - :allowed, 20)))
        END
    FROM (
        SELECT CASE
            WHEN known.last_attempt_at < statement_timestamp() - interval '1 hour' * :forgotten THEN 1
            ELSE greatest(
                known.attempts
                    - :forgiven * extract(epoch FROM statement_timestamp() - known.last_attempt_at) / 3600,
                0
            ) + 1
        END AS attempts
    ) AS counted
)
WHERE known.refused_until <= statement_timestamp()
RETURNING attempts
