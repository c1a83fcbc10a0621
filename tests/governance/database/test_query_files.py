"""Queries in files: each fits the schema and the role that runs it, says what it is, and is run by some code."""

import re
import runpy
from pathlib import Path

import pytest
from django.db import connection

from apps.governance.database import sql_files
from apps.governance.database.actor_transaction import DATABASE_ROLES
from apps.governance.database.sql_files import (
    QueryFileError,
    by_position,
    load_query,
    query_parameters,
    translate_query,
    with_fragments,
)
from apps.launcher.data_folders import PROJECT
from tests.support.database.query_files import (
    FRAGMENTS,
    QUERIES,
    ROLES,
    QueryFile,
    fragment_flaws,
    heading_flaws,
    plan_flaw,
)

EXAMPLE = """\
-- Renames a skill.
--
-- Called by: nobody
-- Runs as: worker
-- One statement: a single update.
-- Locks: the skill's row
-- Parameters:
--   :skill  bigint  the skill
--   :title  text    its new title
-- Returns: the skill's id

SELECT id FROM skills_skill WHERE tenant_id = app_tenant() AND id = :skill AND title <> :title::text
"""


def example(*changes: tuple[str, str]) -> QueryFile:
    """A query file that does not exist, with some of its words replaced."""
    text = EXAMPLE
    for words, instead in changes:
        assert words in text
        text = text.replace(words, instead)
    return QueryFile("apps/skills/queries/example.sql", text)


@pytest.mark.django_db
@pytest.mark.parametrize("path", QUERIES)
def test_postgresql_can_plan_a_query_as_each_role_that_runs_it(path: str) -> None:
    query = QueryFile.read(path)
    assert query.roles
    assert [flaw for role in query.roles if (flaw := plan_flaw(query, role))] == []


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("changes", "role", "refusal"),
    [
        ((), "worker", ""),
        ((("title <>", "headline <>"),), "worker", 'column "headline" does not exist'),
        ((("skills_skill", "skills_runbook"),), "worker", 'relation "skills_runbook" does not exist'),
        (((":skill  bigint", ":skill  text"),), "worker", "operator does not exist: bigint = text"),
        (
            (
                (
                    "id FROM skills_skill WHERE tenant_id = app_tenant() AND id",
                    "task FROM runtime_periodictask WHERE length(task)",
                ),
                ("title <>", "task <>"),
            ),
            *("agent", "permission denied for table runtime_periodictask"),
        ),
    ],
)
def test_a_query_that_no_longer_fits_is_named(changes: tuple[tuple[str, str], ...], role: str, refusal: str) -> None:
    flaw = plan_flaw(example(*changes), role)
    assert refusal in flaw, flaw
    assert flaw.startswith("apps/skills/queries/example.sql as") if refusal else not flaw
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_setting('role')")
        assert cursor.fetchone() == ("none",)


@pytest.mark.pure
@pytest.mark.parametrize("path", QUERIES)
def test_the_heading_of_a_query_describes_it_and_each_of_its_parameters(path: str) -> None:
    assert list(heading_flaws(QueryFile.read(path))) == []


@pytest.mark.pure
@pytest.mark.parametrize("path", FRAGMENTS)
def test_the_heading_of_a_fragment_says_where_it_fits(path: str) -> None:
    assert list(fragment_flaws(QueryFile.read(path))) == []


@pytest.mark.pure
@pytest.mark.parametrize(
    ("words", "instead", "flaw"),
    [
        ("-- Locks: the skill's row\n", "", "it has to have"),
        ("--   :title  text    its new title\n", "", "does not describe title"),
        (":title::text", "'x'", "describes title, which the query does not have"),
        ("Runs as: worker", "Runs as: everybody", "no role everybody"),
        ("-- Renames a skill.\n--\n", "", "begins with a sentence"),
    ],
)
def test_a_heading_that_lacks_something_is_named(words: str, instead: str, flaw: str) -> None:
    assert list(heading_flaws(example())) == []
    assert any(flaw in each for each in heading_flaws(example((words, instead))))


@pytest.mark.pure
def test_every_query_is_loaded_once_and_every_fragment_is_included() -> None:
    code = [path.read_text("utf-8") for path in (PROJECT / "apps").rglob("*.py") if path.name != "sql_files.py"]
    loaded = [path for text in code for path in re.findall(r'load_query\(\s*"([^"]+)"', text)]
    assert sorted(loaded) == list(QUERIES)
    included = {path for each in (*QUERIES, *FRAGMENTS) for path in QueryFile.read(each).included}
    assert sorted(included) == list(FRAGMENTS)
    assert all(load_query(path) for path in loaded)


@pytest.mark.pure
def test_a_fragment_and_the_queries_that_include_it_agree_about_parameters() -> None:
    different = {
        (path, name)
        for path in (*QUERIES, *FRAGMENTS)
        for fragment in QueryFile.read(path).included
        for name, kind in QueryFile.read(fragment).parameters.items()
        if QueryFile.read(path).parameters.get(name) != kind
    }
    assert different == set()


@pytest.mark.pure
def test_the_roles_of_headings_are_those_that_actors_run_as() -> None:
    assert {*DATABASE_ROLES.values(), "login"} == ROLES


@pytest.mark.kernel
@pytest.mark.pure
@pytest.mark.parametrize(
    ("text", "translated"),
    [
        ("SELECT :name", "SELECT %(name)s"),
        ("SELECT :name::text, ':name', \":name\"", "SELECT %(name)s::text, ':name', \":name\""),
        ("SELECT 'it''s :a' || :b", "SELECT 'it''s :a' || %(b)s"),
        (r"SELECT E'it\'s :a' || :b", r"SELECT E'it\'s :a' || %(b)s"),
        ("SELECT $$ :a $$, $x$ $$ :b $x$", "SELECT $$ :a $$, $x$ $$ :b $x$"),
        ("SELECT list[1:2], call(a := :b)", "SELECT list[1:2], call(a := %(b)s)"),
        ("SELECT a % 2 WHERE b LIKE 'x%'", "SELECT a %% 2 WHERE b LIKE 'x%%'"),
        ("SELECT a -- of :b, 5%\n  FROM c\n\n/* not :d\n*/ WHERE e", "SELECT a\n  FROM c\n WHERE e"),
        ("SELECT '--', \"/*\" -- '", "SELECT '--', \"/*\""),
    ],
)
def test_parameters_become_psycopgs_and_everything_else_stays(text: str, translated: str) -> None:
    assert translate_query(text) == translated


@pytest.mark.kernel
@pytest.mark.pure
def test_parameters_are_named_once_in_their_order() -> None:
    assert query_parameters("SELECT :b, :a, :b, ':c' -- :d") == ("b", "a")
    query = translate_query("SELECT :b, :a, :b, '%'")
    assert by_position(query, {"a": 1, "b": 2}) == ("SELECT %s, %s, %s, '%%'", [2, 1, 2])


@pytest.mark.kernel
@pytest.mark.django_db
def test_a_loaded_query_means_to_psycopg_what_its_file_means_to_psql() -> None:
    text = "SELECT :number::integer % 4, 'a%b' LIKE :pattern, (ARRAY[5, 6, 7])[2:3], '::' || :pattern || '%(x)s'"
    with connection.cursor() as cursor:
        cursor.execute(translate_query(text), {"number": 7, "pattern": "a%"})
        assert cursor.fetchone() == (3, True, [6, 7], "::a%%(x)s")


@pytest.mark.kernel
@pytest.mark.pure
def test_an_include_is_the_fragments_text_in_its_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sql_files, "_REPOSITORY", tmp_path)
    (tmp_path / "is_mine.sql").write_text("-- Whether it is mine.\nowner = :me\nAND true\n")
    (tmp_path / "outer.sql").write_text("-- include: is_mine.sql\n")
    (tmp_path / "loop.sql").write_text("-- include: again.sql\n")
    (tmp_path / "again.sql").write_text("-- include: loop.sql\n")
    text = "SELECT 1\nWHERE\n    -- include: outer.sql\n;"
    assert with_fragments(text) == "SELECT 1\nWHERE\n    -- Whether it is mine.\n    owner = :me\n    AND true\n;"
    with pytest.raises(QueryFileError, match=r"A query includes absent\.sql: no such file"):
        with_fragments("-- include: absent.sql\n")
    with pytest.raises(QueryFileError, match=r"loop\.sql includes itself: loop\.sql > again\.sql > loop\.sql"):
        with_fragments("-- include: loop.sql\n")


@pytest.mark.kernel
@pytest.mark.pure
def test_a_query_is_printed_whole_for_psql(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    path = "apps/runtime/turn_store/queries/find_turns_to_restart.sql"
    monkeypatch.setattr("sys.argv", ["sql_files", path])
    runpy.run_path(str(PROJECT / "apps/governance/database/sql_files.py"), run_name="__main__")
    printed = capsys.readouterr().out
    assert printed.startswith("-- Finds those of a worker's turns")
    assert "-- include:" not in printed
    assert "  AND\n  -- Whether messages arrived" in printed
    assert "  turn.round <= :restarts\n" in printed
