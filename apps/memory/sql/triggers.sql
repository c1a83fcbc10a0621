-- Triggers on the tables of memory.

-- memory_agentmemory: A kill switch that freezes learning stops agents and workers from writing the text. Agents and workers
-- cannot approve lines, date approved lines or write as an operator; the tenant's review setting limits what an agent
-- changes at all.
CREATE TRIGGER freeze_learning BEFORE INSERT OR UPDATE OF body
    ON memory_agentmemory FOR EACH ROW EXECUTE FUNCTION refuse_frozen_learning();
CREATE TRIGGER hold_dates BEFORE UPDATE OF line_dates ON memory_agentmemory FOR EACH ROW EXECUTE FUNCTION hold_dates();
CREATE TRIGGER hold_memory BEFORE INSERT OR UPDATE OF body, approved_body
    ON memory_agentmemory FOR EACH ROW EXECUTE FUNCTION hold_memory();
CREATE TRIGGER sign_as_agent BEFORE INSERT OR UPDATE OF body, updated_by, taint
    ON memory_agentmemory FOR EACH ROW EXECUTE FUNCTION sign_as_agent();
CREATE TRIGGER stamp_version BEFORE UPDATE ON memory_agentmemory FOR EACH ROW EXECUTE FUNCTION stamp_version();

-- memory_customerprofile: A kill switch that freezes learning stops agents and workers from writing the profile. They cannot
-- change dates of lines that stay or write as an operator; where the tenant reviews all memory, agents cannot change the
-- profile.
CREATE TRIGGER freeze_learning BEFORE INSERT OR UPDATE OF preferences, notes
    ON memory_customerprofile FOR EACH ROW EXECUTE FUNCTION refuse_frozen_learning();
CREATE TRIGGER hold_profile BEFORE INSERT OR UPDATE OF preferences, notes
    ON memory_customerprofile FOR EACH ROW EXECUTE FUNCTION hold_profile();
CREATE TRIGGER hold_profile_dates BEFORE UPDATE OF line_dates
    ON memory_customerprofile FOR EACH ROW EXECUTE FUNCTION hold_profile_dates();
CREATE TRIGGER sign_as_agent BEFORE INSERT OR UPDATE OF preferences, notes, updated_by, taint
    ON memory_customerprofile FOR EACH ROW EXECUTE FUNCTION sign_as_agent();
CREATE TRIGGER stamp_version BEFORE UPDATE ON memory_customerprofile FOR EACH ROW EXECUTE FUNCTION stamp_version();

-- memory_memoryblock: The same as for the agent's memory; in addition only operators update a read-only block.
CREATE TRIGGER freeze_learning BEFORE INSERT OR UPDATE OF body
    ON memory_memoryblock FOR EACH ROW EXECUTE FUNCTION refuse_frozen_learning();
CREATE TRIGGER hold_dates BEFORE UPDATE OF line_dates ON memory_memoryblock FOR EACH ROW EXECUTE FUNCTION hold_dates();
CREATE TRIGGER hold_memory BEFORE INSERT OR UPDATE OF body, approved_body
    ON memory_memoryblock FOR EACH ROW EXECUTE FUNCTION hold_memory();
CREATE TRIGGER keep_read_only BEFORE UPDATE
    ON memory_memoryblock FOR EACH ROW WHEN (OLD.read_only) EXECUTE FUNCTION keep_read_only_block();
CREATE TRIGGER sign_as_agent BEFORE INSERT OR UPDATE OF body, updated_by, taint
    ON memory_memoryblock FOR EACH ROW EXECUTE FUNCTION sign_as_agent();
CREATE TRIGGER stamp_version BEFORE UPDATE ON memory_memoryblock FOR EACH ROW EXECUTE FUNCTION stamp_version();

-- memory_memoryline: A new line is current and can be superseded or removed; after that the row never changes. Only
-- operators record a line as their own.
CREATE TRIGGER keep_ended BEFORE UPDATE
    ON memory_memoryline FOR EACH ROW WHEN (OLD.status <> 'standing') EXECUTE FUNCTION refuse_change();
CREATE TRIGGER move_state BEFORE INSERT OR UPDATE
    ON memory_memoryline FOR EACH ROW EXECUTE FUNCTION move_state('status', 'standing', 'standing>superseded standing>removed');
CREATE TRIGGER sign_line BEFORE INSERT ON memory_memoryline FOR EACH ROW EXECUTE FUNCTION sign_line();

-- memory_memorytier: A new tier is current; it can change to pending review and back.
CREATE TRIGGER move_state BEFORE INSERT OR UPDATE
    ON memory_memorytier FOR EACH ROW EXECUTE FUNCTION move_state('status', 'standing', 'standing>held held>standing');
CREATE TRIGGER stamp_version BEFORE UPDATE ON memory_memorytier FOR EACH ROW EXECUTE FUNCTION stamp_version();

-- memory_profileline: A new line is current and can be superseded or removed; after that the row never changes. Only
-- operators record a line as their own.
CREATE TRIGGER keep_ended BEFORE UPDATE
    ON memory_profileline FOR EACH ROW WHEN (OLD.status <> 'standing') EXECUTE FUNCTION refuse_change();
CREATE TRIGGER move_state BEFORE INSERT OR UPDATE
    ON memory_profileline FOR EACH ROW EXECUTE FUNCTION move_state('status', 'standing', 'standing>superseded standing>removed');
CREATE TRIGGER sign_line BEFORE INSERT ON memory_profileline FOR EACH ROW EXECUTE FUNCTION sign_line();
