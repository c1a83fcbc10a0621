-- Triggers on the tables of restoration.

-- restore_checkpoint: A checkpoint never changes and is never deleted, so its name always means the same moment.
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON restore_checkpoint FOR EACH ROW EXECUTE FUNCTION refuse_change();
