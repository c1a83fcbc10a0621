"""The privacy class of each column. Erasure and export use it, and the build fails if a column has none.

To add a column: add its line to `column_privacy.csv`, sorted by name. If two classes apply to the content, choose the one that
comes later in the enum; `SECRET` takes precedence over all others. The test of this module compares the table with the database.
"""

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Final

from django.db import connections

TABLE: Final = Path(__file__).with_name("column_privacy.csv")
_COLUMNS: Final = """
SELECT class.relname || '.' || attribute.attname
  FROM pg_attribute AS attribute JOIN pg_class AS class ON class.oid = attribute.attrelid
 WHERE class.relkind IN ('r', 'p') AND class.relnamespace = 'public'::regnamespace
   AND attribute.attnum > 0 AND NOT attribute.attisdropped
"""


class Privacy(StrEnum):
    """How a column relates to natural persons."""

    NONE = "none"
    """Nothing: counts, states, configuration, row ids of this product."""
    IDENTIFIER = "identifier"
    """A customer key, a user id, a name, an address, or a hash of one of these."""
    DERIVED = "derived"
    """Computed from a person's words or identity: hashes, keywords, summaries by a model."""
    WORDS = "words"
    """Text that a person or an agent wrote to a person or about one."""
    SECRET = "secret"  # noqa: S105  # the class, not a secret
    """Credentials, digests of tokens, sealed keys, salts."""


@dataclass(frozen=True, slots=True)
class ColumnPrivacy:
    """The privacy class of one column, with a reason if the class is not obvious."""

    privacy: Privacy
    note: str


def parse_table(text: str) -> Mapping[str, ColumnPrivacy]:
    """Parse the CSV into a mapping by `table.column`. Raises ValueError for an unknown class or a column that is listed twice."""
    rows = list(csv.DictReader(text.splitlines()))
    found = {row["column"]: ColumnPrivacy(Privacy(row["class"]), row["note"]) for row in rows}
    if len(found) < len(rows):
        raise ValueError(f"{TABLE.name} lists a column twice.")
    return MappingProxyType(found)


@cache
def column_privacy() -> Mapping[str, ColumnPrivacy]:
    """Return the privacy class of every column of the schema, by `table.column`."""
    return parse_table(TABLE.read_text(encoding="utf-8"))


def unclassified_columns(using: str = "default") -> list[str]:
    """Return a sentence for each database column without a class, and for each listed column that the database does not have."""
    with connections[using].cursor() as cursor:
        cursor.execute(_COLUMNS)
        columns = {name for (name,) in cursor.fetchall()}
    classified = column_privacy().keys()
    without_class = [f"{name}: {TABLE.name} has no line for this column." for name in sorted(columns - classified)]
    return [*without_class, *(f"{name}: the database has no such column." for name in sorted(classified - columns))]
