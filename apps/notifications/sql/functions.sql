-- Functions of notices: what triggers, policies, indexes and the product's own statements call.

-- Returns the notification settings that are due for a check and under no lease. The functions that collect due work call it
-- as the cross-tenant role.
CREATE OR REPLACE FUNCTION due_of_notice()
    RETURNS TABLE(tenant_id bigint, row_id bigint, since timestamp with time zone)
    LANGUAGE sql STABLE SET search_path = public, pg_temp AS $$
    SELECT terms.tenant_id, terms.id, terms.next_look_at FROM notifications_notificationpreferences AS terms
        WHERE greatest(terms.next_look_at, terms.lease_until) <= statement_timestamp()
$$;
REVOKE ALL ON FUNCTION due_of_notice() FROM PUBLIC;
ALTER FUNCTION due_of_notice() OWNER TO @crossing@;
