-- Whether a customer came back: `later` takes up `earlier`, which had ended. A thread that goes on is taken up by any writer. Beyond
-- the thread, and whichever agent answers, it is the same customer. Conversations off the record count as nothing.
-- Included as a condition on rows `earlier` and `later` of conversations_conversation.
-- include: apps/conversations/queries/fragments/later_contact.sql
AND (
    later.follows_id = earlier.id
    OR
    -- include: apps/conversations/queries/fragments/same_customer.sql
)
