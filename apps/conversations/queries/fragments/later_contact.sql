-- Whether `later` is a contact on the record that began within seven days of the end of `earlier`.
-- Included as a condition on rows `earlier` and `later` of conversations_conversation.
later.tenant_id = earlier.tenant_id
AND later.id <> earlier.id
AND later.origin = 'live'
AND later.parent_id IS NULL
AND later.member_user_id IS NULL
AND earlier.status <> 'open'
AND NOT earlier.off_the_record
AND NOT later.off_the_record
AND later.created_at < coalesce(earlier.resolved_at, earlier.updated_at) + interval '7 days'
