-- Functions of api: what triggers, policies, indexes and the product's own statements call.

-- Tenants with stored results of idempotent requests that are old enough to delete. One row per tenant, because one
-- statement deletes them all. Only the due-work functions of runtime call it; they run as the cross-tenant role, its owner,
-- and see every tenant.
CREATE OR REPLACE FUNCTION list_due_idempotency_records()
    RETURNS TABLE(tenant_id bigint, row_id bigint, due_at timestamp with time zone)
    LANGUAGE sql STABLE SET search_path = public, pg_temp AS $$
    SELECT kept.tenant_id, kept.tenant_id, min(kept.expires_at) FROM api_idempotencyrecord AS kept
        WHERE kept.expires_at <= statement_timestamp() GROUP BY kept.tenant_id
$$;
REVOKE ALL ON FUNCTION list_due_idempotency_records() FROM PUBLIC;
ALTER FUNCTION list_due_idempotency_records() OWNER TO @cross_tenant@;
