"""What is noted of customers is found by its words, too: the lines that stand, and none that was noted off the record."""

from importlib import import_module
from typing import ClassVar, Final

from django.db import migrations

from apps.governance.database import RoleSQL

_BEFORE: Final = import_module("apps.learning.migrations.0034_search")
# A line that was taken out is in the index no more.
SEARCHED: Final = {
    **_BEFORE.SEARCHED,
    "profile_line": (
        "memory_profileline",
        "status, source_conversation, text",
        "words_in(tenant_id, text)",
        "status = 'standing'",
        "began_at",
    ),
}
RULES: Final = {
    "message": _BEFORE.OF_MESSAGES,
    "profile_line": """NOT EXISTS (SELECT 1 FROM conversations_conversation AS thread WHERE thread.tenant_id = shown.tenant_id
                    AND thread.id = shown.source_conversation AND thread.off_the_record)""",
}
ROWS_WITH_WORDS: Final = """
SET LOCAL ROLE @crossing@;
CREATE OR REPLACE FUNCTION rows_with_words(asked text, kinds text[], most integer)
    RETURNS TABLE (kind text, row_id bigint, at timestamptz, is_common boolean)
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_temp SET plan_cache_mode = force_custom_plan AS $$
    #variable_conflict use_column
    DECLARE
        looked_at CONSTANT integer := 2000;
        sought CONSTANT tsquery := sought_words(app_tenant(), asked);
        hits bigint[];
        common boolean;
    BEGIN
        IF coalesce(numnode(sought), 0) = 0 THEN
            RETURN;
        END IF;{looks}
    END
$$;
RESET ROLE
"""
_INDEX: Final = """
CREATE INDEX profile_line_by_words ON memory_profileline USING gin (words_in(tenant_id, text)) WHERE status = 'standing';
GRANT SELECT (id, tenant_id, began_at, status, source_conversation, text) ON memory_profileline TO @crossing@;
CREATE POLICY memory_profileline_crossing ON memory_profileline FOR SELECT TO @crossing@ USING (true)
"""


def _look(kind: str) -> str:
    table, columns, words, has_any, at = SEARCHED[kind]
    rule = RULES.get(kind, "true")
    look: str = _BEFORE.LOOK
    return look.format(kind=kind, table=table, columns=columns, words=words, has_any=has_any, at=at, rule=rule)


class Migration(migrations.Migration):
    """An index, rights, and one function anew."""

    dependencies: ClassVar = [
        ("learning", "0034_search"),
        ("memory", "0019_by_state"),
    ]
    operations: ClassVar = [
        RoleSQL(_INDEX),
        RoleSQL(ROWS_WITH_WORDS.replace("{looks}", "".join(map(_look, SEARCHED)))),
    ]
