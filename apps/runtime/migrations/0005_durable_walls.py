"""Tool steps behind their wall, and a turn that may also be cancelled."""

from typing import ClassVar

from django.db import migrations

from apps.governance.database import ComposeForeignKey, ComposeKey, RaiseWall, RoleSQL, Wall

TOOL_STEPS = Wall(
    operator="SELECT",
    worker="SELECT, INSERT, UPDATE (state, result, is_error, ended_at)",
    agent_rows="EXISTS (SELECT 1 FROM runtime_turn AS turn WHERE turn.id = turn_id)",
    versioned=False,
)
# What is read, or written by us in the same commit, is born done; what acts elsewhere begins, and ends once.
STEPS_END_ONCE = """
CREATE FUNCTION end_tool_step_once() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        IF NEW.state NOT IN ('begun', 'done') THEN
            RAISE EXCEPTION 'A tool step is born begun or done, not %.', NEW.state
                USING ERRCODE = 'check_violation', CONSTRAINT = 'born_state';
        END IF;
    ELSIF TG_OP = 'DELETE' OR OLD.state <> 'begun' THEN
        RAISE EXCEPTION 'A tool step that has ended stays as it is.'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'legal_move';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER end_tool_step_once BEFORE INSERT OR UPDATE OR DELETE ON runtime_toolstep
    FOR EACH ROW EXECUTE FUNCTION end_tool_step_once()
"""
TURNS = """
DROP TRIGGER move_state ON runtime_turn;
CREATE TRIGGER move_state BEFORE INSERT OR UPDATE ON runtime_turn FOR EACH ROW
    EXECUTE FUNCTION move_state('status', 'running', 'running>done running>failed running>cancelled');
ALTER TABLE runtime_turn SET (fillfactor = 70);
GRANT SELECT (run_at) ON runtime_turn TO @crossing@
"""


class Migration(migrations.Migration):
    """Row security, grants, triggers and composite keys."""

    dependencies: ClassVar = [
        ("runtime", "0004_durable_turns"),
    ]
    operations: ClassVar = [
        RaiseWall("runtime_toolstep", TOOL_STEPS),
        RoleSQL(STEPS_END_ONCE),
        ComposeKey("runtime_toolstep"),
        ComposeForeignKey("runtime_toolstep", "turn_id", "runtime_turn"),
        RoleSQL(TURNS),
    ]
