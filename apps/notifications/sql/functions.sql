-- Functions of notices: what triggers, policies, indexes and the product's own statements call.

-- Returns the notification settings that are due for a check and under no lease. The functions that collect due work call it
-- as the cross-tenant role.
CREATE OR REPLACE FUNCTION list_due_notifications()
    RETURNS TABLE(tenant_id bigint, row_id bigint, due_at timestamp with time zone)
    LANGUAGE sql STABLE SET search_path = public, pg_temp AS $$
    SELECT terms.tenant_id, terms.id, terms.next_check_at FROM notifications_notificationpreferences AS terms
        WHERE greatest(terms.next_check_at, terms.lease_until) <= statement_timestamp()
$$;
REVOKE ALL ON FUNCTION list_due_notifications() FROM PUBLIC;
ALTER FUNCTION list_due_notifications() OWNER TO @cross_tenant@;
