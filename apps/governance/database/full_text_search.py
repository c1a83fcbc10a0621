"""What of the tenant at hand holds certain words: ids and since when, through the one function that looks them up by index."""

from dataclasses import dataclass
from datetime import datetime

from django.db import connection


@dataclass(frozen=True, slots=True)
class SearchHits:
    """The newest rows of a kind; `is_common` where so many hold the words that only the newest of all were looked at."""

    rows: tuple[tuple[int, datetime], ...] = ()
    is_common: bool = False

    @property
    def ids(self) -> tuple[int, ...]:
        """Which rows, without when."""
        return tuple(row_id for row_id, _ in self.rows)


def rows_with_words(asked: str, most: int, *kinds: str) -> dict[str, SearchHits]:
    """At most so many rows of each kind: `message`, `skill`, `line` of memory, `block` by its label, `proposal`,
    `profile_line`, which is what stands noted of a customer, and `change`, by the words that it brought or took.

    Every word counts, from its beginning on; in quotation marks they are taken as they stand, `-word` leaves out, `or` gives
    a choice. No conversation off the record is looked at, and nobody's own talk, and nothing that was noted in one off the record.
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
