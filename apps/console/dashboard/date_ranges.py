"""How far back a page looks, as its address says."""

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
    """The ranges of a page, by their name in the address; the first one is what an address without a known name means."""

    lengths: Mapping[str, timedelta]
    labels: Mapping[str, str]

    def asked(self, request: HttpRequest) -> str:
        """Which range the address names."""
        name = request.GET.get(RANGE, "")
        return name if name in self.lengths else next(iter(self.lengths))

    def choices(self, chosen: str) -> Iterator[RangeChoice]:
        """All of them, for the links above what is shown."""
        for name, label in self.labels.items():
            yield RangeChoice(name, label, name == chosen)
