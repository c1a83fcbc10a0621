"""What the journal kept of a conversation off the record may go; that there was a step stays."""

from typing import ClassVar

from django.db import migrations

from apps.governance.database import RoleSQL

FORGETTING = """
DROP TRIGGER append_only ON runtime_modelcall;
CREATE TRIGGER append_only BEFORE DELETE OR UPDATE ON runtime_modelcall FOR EACH ROW
    EXECUTE FUNCTION refuse_all_but_forgetting('asked', 'said', 'text');
CREATE OR REPLACE FUNCTION end_tool_step_once() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        IF NEW.state NOT IN ('begun', 'done') THEN
            RAISE EXCEPTION 'A tool step is born begun or done, not %.', NEW.state
                USING ERRCODE = 'check_violation', CONSTRAINT = 'born_state';
        END IF;
    ELSIF TG_OP = 'DELETE' OR OLD.state <> 'begun' THEN
        IF TG_OP = 'UPDATE' THEN
            IF is_forgetting(to_jsonb(OLD), to_jsonb(NEW), ARRAY['arguments', 'result']) THEN
                RETURN NEW;
            END IF;
        END IF;
        RAISE EXCEPTION 'A tool step that has ended stays as it is.'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'legal_move';
    END IF;
    RETURN NEW;
END $$;
GRANT UPDATE (asked, said, text) ON runtime_modelcall TO @worker@;
GRANT UPDATE (arguments) ON runtime_toolstep TO @worker@;
GRANT SELECT (finished_at) ON runtime_turn TO @crossing@
"""


class Migration(migrations.Migration):
    """Triggers and rights."""

    dependencies: ClassVar = [
        ("runtime", "0011_shortened"),
        ("conversations", "0016_walls_of_forgetting"),
    ]
    operations: ClassVar = [RoleSQL(FORGETTING)]
