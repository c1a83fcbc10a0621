"""SQL in files: the schema files that migrations load, and the queries that the product runs.

A query that is longer than six lines is a file `<package>/queries/<name>.sql` next to the module that runs it. Its heading comment
has a fixed form, which `tests/governance/database/test_query_files.py` reads: the test plans every query under each role that the
heading names. `apps/runtime/turn_store/queries/end_tool_call.sql` is a short example.

To add a query:
1. Write the file. Parameters are written `:name`, as psql has them; a cast is `::type`, so a slice of an array needs numbers.
2. Put text that several queries share into a file in `queries/fragments/`. A line `-- include: <path from the repository's
   root>` is replaced by its text. Queries are not composed in any other way: values that Python knows are parameters.
3. Load it once, in the module that runs it: `CLAIM: Final = load_query("apps/runtime/turn_store/queries/claim_turn.sql")`.
4. Run it with a mapping of parameters, by `execute_as` or a cursor; the mapping is empty if the query has none.

To try a query in psql, print it with its fragments (`python -m apps.governance.database.sql_files <path>`), set its parameters
with `\\set`, and paste it.
"""

import re
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Final

import apps

_REPOSITORY: Final = Path(str(apps.__file__)).resolve().parent.parent
_INCLUDE: Final = re.compile(r"^([ \t]*)-- include: (\S+)[ \t]*$", re.MULTILINE)
_NAMED: Final = re.compile(r"(?<!%)%\((\w+)\)s")
# A comment or a quoted string matches as a whole, so that nothing inside it is read as a parameter.
_TOKEN: Final = re.compile(
    r"""
    (?P<comment> --[^\n]* | /\*.*?\*/ )
  | (?P<quoted> [eE]'(?:[^'\\]|''|\\.)*' | '(?:[^']|'')*' | "[^"]*" | \$(?P<tag>\w*)\$.*?\$(?P=tag)\$ )
  | (?P<operator> :: | := )
  | :(?P<parameter> [A-Za-z_]\w* )
  | (?P<percent> % )
    """,
    re.VERBOSE | re.DOTALL,
)


class QueryFileError(ValueError):
    """Raised when a query file is malformed."""


def read_sql_file(path: str) -> str:
    """Return the text of a file; the path is relative to the repository's root."""
    return (_REPOSITORY / path).read_text(encoding="utf-8")


@cache
def load_query(path: str) -> str:
    """Return a query in psycopg's form: fragments included, parameters as `%(name)s`, percent signs doubled, comments removed."""
    return translate_query(with_fragments(read_sql_file(path), (path,)))


def with_fragments(text: str, including: tuple[str, ...] = ()) -> str:
    """Return the text with each `-- include:` line replaced by its fragment, which gets the line's indentation.

    Comments are kept.
    """

    def read_fragment(line: re.Match[str]) -> str:
        indent, path = line.groups()
        if path in including:
            raise QueryFileError(f"{path} includes itself: {' > '.join((*including, path))}.")
        try:
            fragment = read_sql_file(path)
        except FileNotFoundError as missing:
            raise QueryFileError(
                f"{including[-1] if including else 'A query'} includes {path}: no such file."
            ) from missing
        lines = with_fragments(fragment, (*including, path)).rstrip().splitlines()
        return "\n".join(f"{indent}{each}" if each else each for each in lines)

    return _INCLUDE.sub(read_fragment, text)


def translate_query(text: str) -> str:
    """Translate parameters from psql's form to psycopg's, and remove comments and empty lines.

    Comments are for readers of the file; otherwise they would be sent to PostgreSQL each time that the statement runs inside a
    transaction.
    """
    translated = _TOKEN.sub(_translate_token, text)
    return "\n".join(line.rstrip() for line in translated.splitlines() if line.strip())


def by_position(query: str, parameters: Mapping[str, object]) -> tuple[str, list[object]]:
    """Return a loaded query with positional placeholders and the list of its values, for use as part of a Django query."""
    names = _NAMED.findall(query)
    return _NAMED.sub("%s", query), [parameters[name] for name in names]


def query_parameters(text: str) -> tuple[str, ...]:
    """Return the names of a query's parameters, each once, in order of appearance."""
    named = (token["parameter"] for token in _TOKEN.finditer(text))
    return tuple(dict.fromkeys(filter(None, named)))


def _translate_token(token: re.Match[str]) -> str:
    if token["comment"]:
        return ""
    if token["parameter"]:
        return f"%({token['parameter']})s"
    return token[0].replace("%", "%%")


if __name__ == "__main__":
    sys.stdout.write(with_fragments(read_sql_file(sys.argv[1]), (sys.argv[1],)))
