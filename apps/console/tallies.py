"""How many rows there are, counted as far as anybody pages: a list of a million costs what one of some thousands does."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from django.core.paginator import Paginator
from django.db.models import IntegerField, QuerySet, Subquery

from apps.governance.actors import Actor
from apps.tenants.models import TenantSettings

# Of so many it is said how many they are, of more that there are more.
COUNTED: Final = 1_000
# Whoever pages on is counted on for, up to here; from there on one narrows the list.
MOST_PAGES: Final = 10_000


class RowsOf(Subquery):
    """How many rows a query finds."""

    template = "(SELECT count(*) FROM (%(subquery)s) AS counted)"


@dataclass(frozen=True, slots=True)
class Tally:
    """A number of rows, and how far was counted."""

    found: int
    most: int

    def __str__(self) -> str:
        return f"{self.most}+" if self.found > self.most else str(self.found)


def tallied(actor: Actor, queries: Mapping[str, QuerySet[Any]], most: int = COUNTED) -> dict[str, Tally]:
    """The number of rows of each query, in one statement."""
    counted = {
        f"of_{number}": RowsOf(rows.order_by().values("pk")[: most + 1], output_field=IntegerField())
        for number, rows in enumerate(queries.values())
    }
    # The one row of the tenant that is always there.
    found = TenantSettings.objects.visible_to(actor).values_list(*counted.values()).get()
    return {name: Tally(count, most) for name, count in zip(queries, found, strict=True)}


class Tallied(Paginator):  # type: ignore[type-arg]  # generic in its stubs alone
    """Pages of rows that the list has counted before, with its tabs."""

    template_name = "console/pages.html"

    @property
    def tally(self) -> Tally:
        """How many rows there are, as it is told."""
        known: Tally = self.object_list.tally  # type: ignore[attr-defined]  # set by the list
        return known

    @property
    def count(self) -> int:
        """How many rows there are to page through."""
        return min(self.tally.found, self.tally.most)
