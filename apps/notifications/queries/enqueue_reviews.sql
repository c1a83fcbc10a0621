-- Enqueues for one webhook every proposal of the last day that awaits a decision and was not enqueued for it before.
--
-- Called by: enqueue_reviews (apps/notifications/review_webhooks.py)
-- Runs as: worker
-- One statement: a delivery stays for at least a day, and its unique key keeps a proposal from being enqueued twice.
-- Locks: nothing
-- Parameters:
--   :webhook  bigint  the webhook
-- Returns: the ids of the new deliveries

INSERT INTO webhooks_delivery (tenant_id, webhook_id, event, subject_id)
SELECT webhook.tenant_id, webhook.id, 'review', proposal.id
FROM webhooks_webhook AS webhook
JOIN governance_proposal AS proposal ON proposal.tenant_id = webhook.tenant_id
WHERE webhook.tenant_id = app_tenant()
  AND webhook.id = :webhook
  AND webhook.is_active
  AND webhook.secret_id IS NOT NULL
  AND webhook.on_review
  AND proposal.state = 'open'
  AND coalesce(proposal.expires_at, 'infinity') > statement_timestamp()
  AND proposal.created_at > statement_timestamp() - interval '1 day'
  AND coalesce(proposal.snoozed_until, '-infinity') <= statement_timestamp()
ORDER BY proposal.id
ON CONFLICT DO NOTHING
RETURNING id
