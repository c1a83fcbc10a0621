-- Triggers on the tables of webhooks.

-- webhooks_delivery: The subject of a delivery never changes, and members' conversations with assistants have no deliveries.
-- A waiting delivery is delivered or dead; a dead one can wait again. Only a delivery sent more than a day ago can be
-- deleted.
CREATE TRIGGER append_only BEFORE UPDATE OF tenant_id, webhook_id, conversation_id, event, subject_id, created_at
    ON webhooks_delivery FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER refuse_illegal_transition BEFORE INSERT OR UPDATE
    ON webhooks_delivery FOR EACH ROW EXECUTE FUNCTION refuse_illegal_transition('status', 'waiting', 'waiting>delivered waiting>dead dead>waiting');
CREATE TRIGGER refuse_member_talk BEFORE INSERT ON webhooks_delivery FOR EACH ROW EXECUTE FUNCTION refuse_member_talk();
CREATE TRIGGER refuse_delete_of_recent_delivery BEFORE DELETE
    ON webhooks_delivery FOR EACH ROW WHEN (OLD.status <> 'delivered' OR OLD.delivered_at > statement_timestamp() - interval '1 day')
    EXECUTE FUNCTION refuse_change();

-- webhooks_webhook: Every update raises the version, and Python refuses a write that read an earlier one.
CREATE TRIGGER stamp_version BEFORE UPDATE ON webhooks_webhook FOR EACH ROW EXECUTE FUNCTION stamp_version();
