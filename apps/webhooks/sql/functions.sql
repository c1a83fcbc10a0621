-- Functions of webhooks: what triggers, policies, indexes and the product's own statements call.

-- Waiting deliveries with an expired lease and a retry time that has passed, for active webhooks with a closed circuit
-- breaker. A delivery waits for earlier ones of its conversation to the same webhook, so the receiver gets them in order. What
-- happens in no conversation, such as a review, is marked: find_due_work puts it behind the replies to customers.
-- Only the due-work functions of runtime call it; they run as the cross-tenant role, its owner, and see every tenant.
CREATE OR REPLACE FUNCTION list_due_webhook_deliveries()
    RETURNS TABLE(tenant_id bigint, row_id bigint, due_at timestamp with time zone, is_outside_conversation boolean)
    LANGUAGE sql STABLE SET search_path = public, pg_temp AS $$
    SELECT delivery.tenant_id, delivery.id, delivery.next_attempt_at, delivery.conversation_id IS NULL
        FROM webhooks_delivery AS delivery
        JOIN webhooks_webhook AS webhook ON webhook.tenant_id = delivery.tenant_id AND webhook.id = delivery.webhook_id
        LEFT JOIN webhooks_webhookhealth AS health
            ON health.tenant_id = delivery.tenant_id AND health.webhook_id = delivery.webhook_id
        WHERE delivery.status = 'waiting' AND greatest(delivery.next_attempt_at, delivery.lease_until) <= statement_timestamp()
            AND webhook.is_active AND coalesce(health.paused_until <= statement_timestamp(), true) AND NOT EXISTS (
            SELECT 1 FROM webhooks_delivery AS before WHERE before.tenant_id = delivery.tenant_id
                AND before.webhook_id = delivery.webhook_id AND before.conversation_id = delivery.conversation_id
                AND before.status = 'waiting' AND before.id < delivery.id)
$$;
REVOKE ALL ON FUNCTION list_due_webhook_deliveries() FROM PUBLIC;
ALTER FUNCTION list_due_webhook_deliveries() OWNER TO @cross_tenant@;

-- Active webhooks for reviews, with a secret, that have no delivery yet for an open proposal of the last day; snoozed
-- proposals wait. Only the due-work functions of runtime call it; they run as the cross-tenant role, its owner, and see
-- every tenant.
CREATE OR REPLACE FUNCTION list_due_review_webhooks()
    RETURNS TABLE(tenant_id bigint, row_id bigint, due_at timestamp with time zone)
    LANGUAGE sql STABLE SET search_path = public, pg_temp AS $$
    SELECT webhook.tenant_id, webhook.id, min(proposal.created_at) FROM webhooks_webhook AS webhook
        JOIN governance_proposal AS proposal ON proposal.tenant_id = webhook.tenant_id AND proposal.state = 'open'
            AND coalesce(proposal.expires_at, 'infinity') > statement_timestamp()
            AND proposal.created_at > statement_timestamp() - interval '1 day'
            AND coalesce(proposal.snoozed_until, '-infinity') <= statement_timestamp()
        WHERE webhook.is_active AND webhook.on_review AND webhook.secret_id IS NOT NULL AND NOT EXISTS (
            SELECT 1 FROM webhooks_delivery AS delivery WHERE delivery.tenant_id = webhook.tenant_id
                AND delivery.webhook_id = webhook.id AND delivery.event = 'review' AND delivery.subject_id = proposal.id)
        GROUP BY webhook.tenant_id, webhook.id
$$;
REVOKE ALL ON FUNCTION list_due_review_webhooks() FROM PUBLIC;
ALTER FUNCTION list_due_review_webhooks() OWNER TO @cross_tenant@;
