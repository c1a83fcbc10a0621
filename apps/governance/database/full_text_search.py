"""Full-text search within the current tenant. It returns ids and times of rows, from an SQL function that uses the index."""

from dataclasses import dataclass
from datetime import datetime

from django.db import connection


@dataclass(frozen=True, slots=True)
class SearchHits:
    """The newest matching rows of one kind. `is_common`: too many rows match, so only the newest rows were searched."""

    rows: tuple[tuple[int, datetime], ...] = ()
    is_common: bool = False

    @property
    def ids(self) -> tuple[int, ...]:
        """The ids of the rows, without their times."""
        return tuple(row_id for row_id, _ in self.rows)


def rows_with_words(asked: str, most: int, *kinds: str) -> dict[str, SearchHits]:
    """Return the newest matches of each kind, `most` per kind at most.

    Kinds are `message`, `skill`, `line` (of memory), `block` (by its label), `proposal`, `profile_line` (of a customer profile)
    and `change` (by the words that it added or removed). All words must match, each as the beginning of a word. Words in
    quotation marks match exactly, `-word` excludes, `or` gives a choice. Conversations off the record, notes made in them, and
    members' talks with assistants are not searched.
    """
    rows: dict[str, list[tuple[int, datetime]]] = {kind: [] for kind in kinds}
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT kind, row_id, row_at, is_truncated FROM search_rows(%s, %s, %s)", [asked, list(kinds), most]
        )
        answers = cursor.fetchall()
    for kind, row_id, at, _ in answers:
        rows[kind].append((int(row_id), at))
    common = {kind for kind, _, _, is_common in answers if is_common}
    return {kind: SearchHits(tuple(found), kind in common) for kind, found in rows.items()}
