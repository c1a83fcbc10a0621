-- Whether `later` began after `earlier` had ended, by the same customer: the same key, where both times whoever wrote is believed
-- to be that customer. A key names its channel, so the same id on two channels is two people (R009).
-- Included as a condition on rows `earlier` and `later` of conversations_conversation.
later.end_user_key <> ''
AND later.end_user_key = earlier.end_user_key
AND later.created_at >= coalesce(earlier.resolved_at, earlier.updated_at)
AND (
    later.proven_at IS NOT NULL AND earlier.proven_at IS NOT NULL
    OR NOT (
        SELECT settings.is_customer_proof_required
        FROM tenants_tenantsettings AS settings
        WHERE settings.tenant_id = earlier.tenant_id
    )
)
