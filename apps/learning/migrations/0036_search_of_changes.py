"""What was changed is found by its words, too: those of the columns that a change touched, before and after, and its reason.

Creating what is searched itself is no hit of its own; what customers said or had noted is not found through the books, and nothing
that came of a conversation off the record or of somebody's own talk.
"""

from importlib import import_module
from typing import ClassVar, Final

from django.db import migrations

from apps.governance.database import RoleSQL

_BEFORE: Final = import_module("apps.learning.migrations.0035_search_of_profiles")
# The names of what was changed count as its words.
CHANGED_WORDS: Final = """
CREATE FUNCTION changed_words(before jsonb, after jsonb, reason text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT reason || coalesce(string_agg(' ' || (said.word #>> '{}'), '' ORDER BY said.place, said.name), '') FROM (
        SELECT 1 AS place, each.key AS name, jsonb_path_query(each.value, 'strict $.** ? (@.type() == "string")') AS word
          FROM jsonb_each(after) AS each
         WHERE each.value IS DISTINCT FROM before -> each.key OR each.key IN ('name', 'title', 'label', 'key', 'line_key')
         UNION ALL
        SELECT 2, each.key, jsonb_path_query(each.value, 'strict $.** ? (@.type() == "string")')
          FROM jsonb_each(before) AS each WHERE each.value IS DISTINCT FROM after -> each.key) AS said
$$
"""
TABLE: Final = "governance_changetext"
WORDS: Final = "words_in(tenant_id, changed_words(before, after, reason))"
_INDEX: Final = f"""
CREATE INDEX change_by_words ON {TABLE} USING gin ({WORDS});
GRANT SELECT (record_id, tenant_id, before, after, reason) ON {TABLE} TO @crossing@;
GRANT SELECT (at, subject_type, version_before) ON governance_changerecord TO @crossing@;
CREATE POLICY governance_changetext_crossing ON {TABLE} FOR SELECT TO @crossing@ USING (true)
"""
# They hold what customers said or had noted, or are a member's own.
LEFT_OUT: Final = (
    "conversations.conversation",
    "desk.draft",
    "desk.escalation",
    "memory.customerprofile",
    "notebook.note",
    "personas.memberoverlay",
    "tools.toolapproval",
)
FOUND_THEMSELVES: Final = ("governance.proposal", "memory.agentmemory", "memory.memoryblock", "skills.skill")


def _listed(names: tuple[str, ...]) -> str:
    return ", ".join(f"'{name}'" for name in names)


RULE: Final = f"""shown.subject_type NOT IN ({_listed(LEFT_OUT)})
                AND NOT (shown.version_before = 0 AND shown.subject_type IN ({_listed(FOUND_THEMSELVES)}))
                AND NOT EXISTS (SELECT 1 FROM conversations_conversation AS thread WHERE thread.tenant_id = shown.tenant_id
                    AND thread.id = CASE jsonb_typeof(shown.evidence -> 'conversation_id')
                        WHEN 'number' THEN (shown.evidence ->> 'conversation_id')::bigint END
                    AND (thread.off_the_record OR thread.member_user_id IS NOT NULL))"""  # noqa: S608  # of constants
# The newest are read by the keys of the records, which have an order; their words stand in another table.
LOOK: Final = f"""
        IF 'change' = ANY (kinds) THEN
            SELECT coalesce(array_agg(hit.record_id), '{{}}') INTO hits FROM (SELECT record_id FROM {TABLE}
                WHERE {WORDS} @@ sought AND tenant_id + 0 = app_tenant() LIMIT looked_at) AS hit;
            common := cardinality(hits) >= looked_at;
            IF common THEN
                newest := ARRAY(SELECT record.id FROM governance_changerecord AS record
                    WHERE record.tenant_id = app_tenant() ORDER BY record.id DESC LIMIT looked_at);
                SELECT hits || coalesce(array_agg(hit.record_id), '{{}}') INTO hits FROM (SELECT record_id, tenant_id, before, after, reason
                    FROM {TABLE} WHERE record_id = ANY (newest) OFFSET 0) AS hit WHERE {WORDS} @@ sought;
            END IF;
            RETURN QUERY SELECT 'change', shown.id, shown.at, common FROM governance_changerecord AS shown
                WHERE shown.id = ANY (hits) AND {RULE} ORDER BY shown.id DESC LIMIT most;
        END IF;"""  # noqa: S608  # of constants
ROWS_WITH_WORDS: Final = _BEFORE.ROWS_WITH_WORDS.replace("hits bigint[];", "hits bigint[];\n        newest bigint[];")
LOOKS: Final = "".join([*map(_BEFORE._look, _BEFORE.SEARCHED), LOOK])


class Migration(migrations.Migration):
    """A function of words, their index, rights, and the function that looks anew."""

    dependencies: ClassVar = [
        ("learning", "0035_search_of_profiles"),
        ("governance", "0017_by_evidence"),
    ]
    operations: ClassVar = [
        RoleSQL(CHANGED_WORDS),
        RoleSQL(_INDEX),
        RoleSQL(ROWS_WITH_WORDS.replace("{looks}", LOOKS)),
    ]
