-- Triggers on the tables of personas.

-- personas_identitycard: Every update raises the version, and Python refuses a write that read an earlier one.
CREATE TRIGGER stamp_version BEFORE UPDATE ON personas_identitycard FOR EACH ROW EXECUTE FUNCTION stamp_version();

-- personas_memberoverlay: A member's overlay is for an assistant, never for an agent that serves customers.
CREATE TRIGGER refuse_overlay_for_non_assistant AFTER INSERT ON personas_memberoverlay FOR EACH ROW EXECUTE FUNCTION refuse_overlay_for_non_assistant();
CREATE TRIGGER stamp_version BEFORE UPDATE ON personas_memberoverlay FOR EACH ROW EXECUTE FUNCTION stamp_version();

-- personas_persona: A new persona is active; it can be archived and activated again.
CREATE TRIGGER refuse_illegal_transition BEFORE INSERT OR UPDATE
    ON personas_persona FOR EACH ROW EXECUTE FUNCTION refuse_illegal_transition('status', 'active', 'active>archived archived>active');
CREATE TRIGGER stamp_version BEFORE UPDATE ON personas_persona FOR EACH ROW EXECUTE FUNCTION stamp_version();

-- personas_personaoverlay: Every update raises the version, and Python refuses a write that read an earlier one.
CREATE TRIGGER stamp_version BEFORE UPDATE ON personas_personaoverlay FOR EACH ROW EXECUTE FUNCTION stamp_version();

-- personas_standingrule: A new rule is active; it can be retired and restored.
CREATE TRIGGER refuse_illegal_transition BEFORE INSERT OR UPDATE
    ON personas_standingrule FOR EACH ROW EXECUTE FUNCTION refuse_illegal_transition('status', 'active', 'active>retired retired>active');
CREATE TRIGGER stamp_version BEFORE UPDATE ON personas_standingrule FOR EACH ROW EXECUTE FUNCTION stamp_version();
