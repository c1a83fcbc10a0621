-- Functions of review: what triggers, policies, indexes and the product's own statements call.

-- Returns the bulk actions with proposals that are not decided yet. The functions that collect due work call it as the
-- cross-tenant role, so a bulk action goes on after its worker has died.
CREATE OR REPLACE FUNCTION list_due_bulk_decisions() RETURNS TABLE(tenant_id bigint, row_id bigint, due_at timestamp with time zone)
    LANGUAGE sql STABLE SET search_path = public, pg_temp AS $$
    SELECT decision.tenant_id, decision.id, decision.created_at FROM review_bulkdecision AS decision
        WHERE EXISTS (SELECT 1 FROM review_bulkitem AS item WHERE item.tenant_id = decision.tenant_id
            AND item.decision_id = decision.id AND item.state = 'waiting')
$$;
REVOKE ALL ON FUNCTION list_due_bulk_decisions() FROM PUBLIC;
ALTER FUNCTION list_due_bulk_decisions() OWNER TO @cross_tenant@;
