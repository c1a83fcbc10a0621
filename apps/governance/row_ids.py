"""Parsing and limits of row ids in URLs and forms."""

from typing import Final

# The largest value of the database column.
LARGEST_ROW_ID: Final = 2**63 - 1
# Every number with this many digits fits the column. No row will ever have a longer id.
MOST_ROW_ID_DIGITS: Final = len(str(LARGEST_ROW_ID)) - 1


def parse_row_id(text: str) -> int | None:
    """Parse a row id; None if the text is not a number, or has more digits than any id."""
    return int(text) if text.isdecimal() and len(text) <= MOST_ROW_ID_DIGITS else None
