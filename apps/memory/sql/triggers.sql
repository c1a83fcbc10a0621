-- Triggers on the tables of memory.

-- memory_agentmemory: A kill switch that freezes learning stops agents and workers from writing the text. Agents and workers
-- cannot approve lines, date approved lines or write as an operator; the tenant's review setting limits what an agent
-- changes at all.
CREATE TRIGGER freeze_learning BEFORE INSERT OR UPDATE OF body
    ON memory_agentmemory FOR EACH ROW EXECUTE FUNCTION refuse_frozen_learning();
CREATE TRIGGER refuse_dates_of_approved_lines BEFORE UPDATE OF line_dates ON memory_agentmemory FOR EACH ROW EXECUTE FUNCTION refuse_dates_of_approved_lines();
CREATE TRIGGER refuse_unreviewed_memory BEFORE INSERT OR UPDATE OF body, approved_body
    ON memory_agentmemory FOR EACH ROW EXECUTE FUNCTION refuse_unreviewed_memory();
CREATE TRIGGER refuse_text_signed_as_person BEFORE INSERT OR UPDATE OF body, updated_by, taint
    ON memory_agentmemory FOR EACH ROW EXECUTE FUNCTION refuse_text_signed_as_person();
CREATE TRIGGER stamp_version BEFORE UPDATE ON memory_agentmemory FOR EACH ROW EXECUTE FUNCTION stamp_version();

-- memory_customerprofile: A kill switch that freezes learning stops agents and workers from writing the profile. They cannot
-- change dates of lines that stay or write as an operator; where the tenant reviews all memory, agents cannot change the
-- profile.
CREATE TRIGGER freeze_learning BEFORE INSERT OR UPDATE OF preferences, notes
    ON memory_customerprofile FOR EACH ROW EXECUTE FUNCTION refuse_frozen_learning();
CREATE TRIGGER refuse_unreviewed_profile BEFORE INSERT OR UPDATE OF preferences, notes
    ON memory_customerprofile FOR EACH ROW EXECUTE FUNCTION refuse_unreviewed_profile();
CREATE TRIGGER refuse_dates_of_existing_profile_lines BEFORE UPDATE OF line_dates
    ON memory_customerprofile FOR EACH ROW EXECUTE FUNCTION refuse_dates_of_existing_profile_lines();
CREATE TRIGGER refuse_text_signed_as_person BEFORE INSERT OR UPDATE OF preferences, notes, updated_by, taint
    ON memory_customerprofile FOR EACH ROW EXECUTE FUNCTION refuse_text_signed_as_person();
CREATE TRIGGER stamp_version BEFORE UPDATE ON memory_customerprofile FOR EACH ROW EXECUTE FUNCTION stamp_version();

-- memory_memoryblock: The same as for the agent's memory; in addition only operators update a read-only block.
CREATE TRIGGER freeze_learning BEFORE INSERT OR UPDATE OF body
    ON memory_memoryblock FOR EACH ROW EXECUTE FUNCTION refuse_frozen_learning();
CREATE TRIGGER refuse_dates_of_approved_lines BEFORE UPDATE OF line_dates ON memory_memoryblock FOR EACH ROW EXECUTE FUNCTION refuse_dates_of_approved_lines();
CREATE TRIGGER refuse_unreviewed_memory BEFORE INSERT OR UPDATE OF body, approved_body
    ON memory_memoryblock FOR EACH ROW EXECUTE FUNCTION refuse_unreviewed_memory();
CREATE TRIGGER refuse_change_of_read_only_block BEFORE UPDATE
    ON memory_memoryblock FOR EACH ROW WHEN (OLD.is_read_only) EXECUTE FUNCTION refuse_change_of_read_only_block();
CREATE TRIGGER refuse_text_signed_as_person BEFORE INSERT OR UPDATE OF body, updated_by, taint
    ON memory_memoryblock FOR EACH ROW EXECUTE FUNCTION refuse_text_signed_as_person();
CREATE TRIGGER stamp_version BEFORE UPDATE ON memory_memoryblock FOR EACH ROW EXECUTE FUNCTION stamp_version();

-- memory_memoryline: A new line is current and can be superseded or removed; after that the row never changes. Only
-- operators record a line as their own.
CREATE TRIGGER refuse_change_of_ended_line BEFORE UPDATE
    ON memory_memoryline FOR EACH ROW WHEN (OLD.status <> 'active') EXECUTE FUNCTION refuse_change();
CREATE TRIGGER refuse_illegal_transition BEFORE INSERT OR UPDATE
    ON memory_memoryline FOR EACH ROW EXECUTE FUNCTION refuse_illegal_transition('status', 'active', 'active>superseded active>removed');
CREATE TRIGGER refuse_line_signed_as_person BEFORE INSERT ON memory_memoryline FOR EACH ROW EXECUTE FUNCTION refuse_line_signed_as_person();

-- memory_memorytier: A new tier is current; it can change to pending review and back.
CREATE TRIGGER refuse_illegal_transition BEFORE INSERT OR UPDATE
    ON memory_memorytier FOR EACH ROW EXECUTE FUNCTION refuse_illegal_transition('status', 'active', 'active>pending pending>active');
CREATE TRIGGER stamp_version BEFORE UPDATE ON memory_memorytier FOR EACH ROW EXECUTE FUNCTION stamp_version();

-- memory_profileline: A new line is current and can be superseded or removed; after that the row never changes. Only
-- operators record a line as their own.
CREATE TRIGGER refuse_change_of_ended_line BEFORE UPDATE
    ON memory_profileline FOR EACH ROW WHEN (OLD.status <> 'active') EXECUTE FUNCTION refuse_change();
CREATE TRIGGER refuse_illegal_transition BEFORE INSERT OR UPDATE
    ON memory_profileline FOR EACH ROW EXECUTE FUNCTION refuse_illegal_transition('status', 'active', 'active>superseded active>removed');
CREATE TRIGGER refuse_line_signed_as_person BEFORE INSERT ON memory_profileline FOR EACH ROW EXECUTE FUNCTION refuse_line_signed_as_person();
