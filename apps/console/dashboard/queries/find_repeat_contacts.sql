-- Finds the conversations, resolved since a moment, after which the customer came back.
--
-- Called by: the reports (apps/console/dashboard/daily_counts.py), as a part of a query of Django's
-- Runs as: operator, staff
-- One statement: it is a subquery.
-- Locks: nothing
-- Parameters:
--   :tenant  bigint       the tenant
--   :since   timestamptz  the moment
-- Returns: the ids of those conversations

SELECT earlier.id
FROM conversations_conversation AS earlier
WHERE earlier.tenant_id = :tenant
  AND earlier.resolved_at >= :since
  -- Each half is looked up by an index of its own, row by row, and ends at the first row that it finds.
  AND (
      EXISTS (
          SELECT 1
          FROM conversations_conversation AS later
          WHERE
              -- include: apps/conversations/queries/fragments/later_contact.sql
              AND later.follows_id = earlier.id
          OFFSET 0
      )
      OR EXISTS (
          SELECT 1
          FROM conversations_conversation AS later
          WHERE
              -- include: apps/conversations/queries/fragments/later_contact.sql
              AND
              -- include: apps/conversations/queries/fragments/same_customer.sql
          OFFSET 0
      )
  )
