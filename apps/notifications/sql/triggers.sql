-- Triggers on the tables of notices.

-- notifications_emailnotification: A notification keeps its recipient and is never deleted. It is sent, given up or dropped as settled once.
CREATE TRIGGER append_only BEFORE DELETE OR UPDATE OF tenant_id, preferences_id, is_digest, created_at
    ON notifications_emailnotification FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER refuse_illegal_transition BEFORE INSERT OR UPDATE
    ON notifications_emailnotification FOR EACH ROW EXECUTE FUNCTION refuse_illegal_transition('status', 'waiting', 'waiting>sent waiting>dead waiting>skipped');
