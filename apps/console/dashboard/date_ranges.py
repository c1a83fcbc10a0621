"""Date ranges of a page: how far back it looks, chosen in its address."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta

from django.http import HttpRequest

RANGE = "range"


@dataclass(frozen=True, slots=True)
class RangeChoice:
    """One range as a page offers it."""

    name: str
    label: str
    selected: bool


@dataclass(frozen=True, slots=True)
class DateRanges:
    """The ranges of a page, by their name in the address; the first one is the default."""

    lengths: Mapping[str, timedelta]
    labels: Mapping[str, str]

    def asked(self, request: HttpRequest) -> str:
        """Return the name of the range in the address, or of the default."""
        name = request.GET.get(RANGE, "")
        return name if name in self.lengths else next(iter(self.lengths))

    def choices(self, chosen: str) -> Iterator[RangeChoice]:
        """Yield all ranges, for the links above the page's content."""
        for name, label in self.labels.items():
            yield RangeChoice(name, label, name == chosen)
