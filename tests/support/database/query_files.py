"""Query files as tests see them: their places, their heading comments, and whether PostgreSQL can plan them."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from django.db import DatabaseError, connection, transaction

from apps.governance.database.migration_operations import role_name
from apps.governance.database.prepared_statements import prepare_statement
from apps.governance.database.sql_files import query_parameters, translate_query, with_fragments
from apps.launcher.data_folders import PROJECT

QUERIES = tuple(sorted(str(path.relative_to(PROJECT)) for path in PROJECT.glob("apps/**/queries/*.sql")))
FRAGMENTS = tuple(sorted(str(path.relative_to(PROJECT)) for path in PROJECT.glob("apps/**/queries/fragments/*.sql")))

# Each begins a line of the heading, in this order.
HEADINGS = ("Called by", "Runs as", "One statement", "Locks", "Parameters", "Returns")
ROLES = frozenset({"login", "operator", "agent", "worker", "staff"})
PARAMETER = re.compile(r"^--   :(\w+) +([a-z ]+(?:\[\])?)  +(\S.*)$", re.MULTILINE)
INCLUDE = re.compile(r"^[ \t]*-- include: (\S+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class QueryFile:
    """A query or a fragment with its heading: the comment lines before the first empty line or the first of SQL."""

    path: str
    text: str

    @classmethod
    def read(cls, path: str) -> "QueryFile":
        return cls(path, (PROJECT / path).read_text("utf-8"))

    @property
    def heading(self) -> str:
        lines = self.text.splitlines()
        end = next((at for at, line in enumerate(lines) if not line.startswith("--")), len(lines))
        return "\n".join(line for line in lines[:end] if not INCLUDE.match(line))

    @property
    def whole(self) -> str:
        """Return the text with its fragments."""
        return with_fragments(self.text, (self.path,))

    @property
    def parameters(self) -> Mapping[str, str]:
        """Return the type of each parameter that the heading describes."""
        return {name: kind.strip() for name, kind, _ in PARAMETER.findall(self.heading)}

    @property
    def roles(self) -> tuple[str, ...]:
        found = re.search(r"^-- Runs as: (.+)$", self.heading, re.MULTILINE)
        return tuple(found[1].split(", ")) if found else ()

    @property
    def included(self) -> tuple[str, ...]:
        return tuple(INCLUDE.findall(self.text))


def heading_flaws(query: QueryFile) -> Iterator[str]:
    """Yield the parts that a query's heading lacks."""
    found = re.findall(r"^-- ([A-Z][a-z]+(?: [a-z]+)?):", query.heading, re.MULTILINE)
    if [each for each in found if each in HEADINGS] != list(HEADINGS):
        yield f"{query.path}: the heading has {', '.join(found)}; it has to have {', '.join(HEADINGS)}."
    if not re.match(r"-- [A-Z].+\n(-- .+\n)*--\n", query.heading):
        yield f"{query.path}: the heading begins with a sentence about what the query does, and an empty comment line."
    if unknown := set(query.roles) - ROLES:
        yield f"{query.path}: there is no role {', '.join(sorted(unknown))}."
    yield from parameter_flaws(query, set(query_parameters(query.whole)))


def fragment_flaws(fragment: QueryFile) -> Iterator[str]:
    """Yield the parts that a fragment's heading lacks."""
    if not re.match(r"-- [A-Z]", fragment.heading) or "\n-- Included " not in f"\n{fragment.heading}":
        yield f"{fragment.path}: the heading says what it is, and `Included ...` where it fits."
    yield from parameter_flaws(fragment, set(query_parameters(fragment.whole)))


def parameter_flaws(query: QueryFile, used: set[str]) -> Iterator[str]:
    if lacking := used - query.parameters.keys():
        yield f"{query.path}: the heading does not describe {', '.join(sorted(lacking))}."
    if unused := query.parameters.keys() - used:
        yield f"{query.path}: the heading describes {', '.join(sorted(unused))}, which the query does not have."


def plan_flaw(query: QueryFile, role: str) -> str:
    """Return why PostgreSQL would refuse the query for this role with parameters of the described types; empty if it would not.

    EXPLAIN EXECUTE begins the statement without running it, so it checks names, types and rights.
    """
    sql = translate_query(query.whole)
    names = list(dict.fromkeys(re.findall(r"%\((\w+)\)s", sql)))
    types = f"({', '.join(query.parameters[name] for name in names)})" if names else ""
    values = f"({', '.join('NULL' for _ in names)})" if names else ""
    prepared = prepare_statement(sql)
    plan = prepared.plan.replace(f"{prepared.name} AS", f"{prepared.name} {types} AS", 1).replace("%%", "%")
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            acting = "none" if role == "login" else role_name(role)
            cursor.execute("SELECT set_config('role', %s, true), set_config('app.tenant', '1', true)", [acting])
            cursor.execute(plan)
            cursor.execute("SET LOCAL plan_cache_mode = force_generic_plan")
            cursor.execute(f"EXPLAIN EXECUTE {prepared.name} {values}")
            # The rollback to the savepoint also resets the role and the tenant.
            transaction.set_rollback(True)
    except DatabaseError as refusal:
        return f"{query.path} as {role}: {refusal}"
    finally:
        with connection.cursor() as cursor:
            cursor.execute("DEALLOCATE ALL")
    return ""
