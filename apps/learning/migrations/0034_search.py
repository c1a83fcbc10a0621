"""What holds certain words is found by index, in the tenant at hand alone, for a page that people search by."""

from typing import ClassVar, Final

from django.db import migrations

from apps.governance.database import RoleSQL

# The tenant is a word of every row, so that an index of words leads to the tenant's rows. No text holds such a word: it has a
# space in it. Of a longer text the beginning is enough; the type refuses one of very many words. Every word that is sought is
# the beginning of one, unless it is shorter than three letters or something stands in quotation marks.
WORDS = r"""
CREATE FUNCTION words_in(tenant bigint, said text) RETURNS tsvector LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT to_tsvector('pg_catalog.simple', left(said, 100000)) || array_to_tsvector(ARRAY['tenant ' || tenant::text])
$$;
CREATE FUNCTION sought_words(tenant bigint, asked text) RETURNS tsquery LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN numnode(plain) = 0 THEN plain ELSE
        (CASE WHEN strpos(asked, '"') > 0 THEN plain
            ELSE regexp_replace(regexp_replace(plain::text, '(''([^'']|'''')+'')', '\1:*', 'g'),
                '(^|[ !(])(''([^'' ]|''''){1,2}''):\*', '\1\2', 'g')::tsquery END)
        && ('''tenant ' || tenant::text || '''')::tsquery END
    FROM (SELECT websearch_to_tsquery('pg_catalog.simple', asked) AS plain) AS said
$$
"""
# By kind: the table, what is read of it for its words, these, which rows have any, and the day a row is shown under.
SEARCHED: Final = {
    "message": (
        "conversations_message",
        "sender, text",
        "words_in(tenant_id, text)",
        "sender <> 'tool'",
        "created_at",
    ),
    "skill": (
        "skills_skill",
        "name, title, description, body",
        "words_in(tenant_id, name || ' ' || title || ' ' || description || ' ' || body)",
        "true",
        "updated_at",
    ),
    "line": ("memory_memoryline", "text", "words_in(tenant_id, text)", "true", "began_at"),
    "block": ("memory_memoryblock", "label", "words_in(tenant_id, label)", "true", "updated_at"),
    "proposal": (
        "governance_proposal",
        "target_label, rationale, edited_content, content",
        """(words_in(tenant_id, target_label || ' ' || rationale)
            || to_tsvector('pg_catalog.simple', coalesce(edited_content, content)))""",
        "true",
        "created_at",
    ),
}
# What had no right to be read past row security until now.
WALLED: Final = ("skills_skill", "memory_memoryline", "memory_memoryblock")
# On the record, and not a member's own talk.
OF_MESSAGES: Final = """EXISTS (SELECT 1 FROM conversations_conversation AS thread WHERE thread.tenant_id = shown.tenant_id
                    AND thread.id = shown.conversation_id AND NOT thread.off_the_record AND thread.member_user_id IS NULL)"""
# An index of words has no order. Where more rows have the words than are looked at, the tenant's newest rows are read besides.
# The sum keeps the plan off the keys that begin with the tenant.
LOOK: Final = """
        IF '{kind}' = ANY (kinds) THEN
            SELECT coalesce(array_agg(hit.id), '{{}}') INTO hits FROM (SELECT id FROM {table}
                WHERE {words} @@ sought AND {has_any} AND tenant_id + 0 = app_tenant() LIMIT looked_at) AS hit;
            common := cardinality(hits) >= looked_at;
            IF common THEN
                SELECT hits || coalesce(array_agg(hit.id), '{{}}') INTO hits FROM (SELECT id, tenant_id, {columns} FROM {table}
                    WHERE tenant_id = app_tenant() ORDER BY id DESC LIMIT looked_at) AS hit
                    WHERE {words} @@ sought AND {has_any};
            END IF;
            RETURN QUERY SELECT '{kind}', shown.id, shown.{at}, common FROM {table} AS shown
                WHERE shown.id = ANY (hits) AND {rule} ORDER BY shown.id DESC LIMIT most;
        END IF;"""
ROWS_WITH_WORDS: Final = """
CREATE FUNCTION rows_with_words(asked text, kinds text[], most integer)
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
REVOKE ALL ON FUNCTION rows_with_words(text, text[], integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION rows_with_words(text, text[], integer) TO @operator@, @staff@;
ALTER FUNCTION rows_with_words(text, text[], integer) OWNER TO @crossing@
"""


def _index(kind: str) -> str:
    table, columns, words, has_any, at = SEARCHED[kind]
    some = "" if has_any == "true" else f" WHERE {has_any}"
    return f"""CREATE INDEX {kind}_by_words ON {table} USING gin ({words}){some};
GRANT SELECT (id, tenant_id, {at}, {columns}) ON {table} TO @crossing@"""


def _look(kind: str) -> str:
    table, columns, words, has_any, at = SEARCHED[kind]
    rule = OF_MESSAGES if kind == "message" else "true"
    return LOOK.format(kind=kind, table=table, columns=columns, words=words, has_any=has_any, at=at, rule=rule)


class Migration(migrations.Migration):
    """Indexes, rights and three functions."""

    dependencies: ClassVar = [
        ("learning", "0033_work_of_a_tenant"),
        ("conversations", "0027_steps_of_a_run"),
        ("governance", "0014_books_by_time"),
        ("memory", "0018_dates_of_profile_lines"),
        ("skills", "0009_kept_skills"),
    ]
    operations: ClassVar = [
        RoleSQL(WORDS),
        *(RoleSQL(_index(kind)) for kind in SEARCHED),
        *(
            RoleSQL(f"CREATE POLICY {table}_crossing ON {table} FOR SELECT TO @crossing@ USING (true)")
            for table in WALLED
        ),
        RoleSQL(ROWS_WITH_WORDS.replace("{looks}", "".join(map(_look, SEARCHED)))),
    ]
