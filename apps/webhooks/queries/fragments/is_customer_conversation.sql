-- Whether the conversation is one with a customer. What agents answer each other, or a member, goes to no integration, which
-- would pass it on to the customer.
-- Included as a condition on rows `webhook` (webhooks_webhook) and `source` (conversation_id).
NOT EXISTS (
    SELECT 1
    FROM conversations_conversation AS asked
    WHERE asked.tenant_id = webhook.tenant_id
      AND asked.id = source.conversation_id
      AND (asked.parent_id IS NOT NULL OR asked.member_user_id IS NOT NULL)
)
