"""How many rows there are, counted as far as anybody pages: a list of a million costs what one of some thousands does."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from django.core.paginator import Paginator
from django.db.models import IntegerField, QuerySet, Subquery
from django.utils.functional import cached_property

from apps.governance.actors import Actor
from apps.tenants.models import TenantSettings

# Of so many it is said how many they are, of more that there are more.
COUNT_LIMIT: Final = 1_000
# Whoever pages on is counted on for, up to here; from there on one narrows the list.
MAX_PAGES: Final = 10_000


class RowCountSubquery(Subquery):
    """How many rows a query finds."""

    template = "(SELECT count(*) FROM (%(subquery)s) AS counted)"
    # What Django knows to find nothing is not asked.
    empty_result_set_value = 0


@dataclass(frozen=True, slots=True)
class BoundedCount:
    """A number of rows, and how far was counted."""

    found: int
    most: int

    def __str__(self) -> str:
        return f"{self.most}+" if self.found > self.most else str(self.found)


def count_rows(actor: Actor, queries: Mapping[str, QuerySet[Any]], most: int = COUNT_LIMIT) -> dict[str, BoundedCount]:
    """The number of rows of each query, in one statement."""
    counted = {
        f"of_{number}": RowCountSubquery(rows.order_by().values("pk")[: most + 1], output_field=IntegerField())
        for number, rows in enumerate(queries.values())
    }
    # The one row of the tenant that is always there.
    found = TenantSettings.objects.visible_to(actor).values_list(*counted.values()).get()
    return {name: BoundedCount(count, most) for name, count in zip(queries, found, strict=True)}


class CountedPaginator(Paginator):  # type: ignore[type-arg]  # generic in its stubs alone
    """Pages of rows that the list has counted before, with its tabs; where there was no list, they are counted as far."""

    template_name = "console/framework/pagination.html"

    @property
    def tally(self) -> BoundedCount:
        """How many rows there are, as it is told."""
        known: BoundedCount | None = getattr(self.object_list, "tally", None)
        return known or self.counted

    @cached_property
    def counted(self) -> BoundedCount:
        """Of rows that nobody counted, such as those to choose from."""
        rows: Any = self.object_list
        return BoundedCount(rows.order_by()[: COUNT_LIMIT + 1].count(), COUNT_LIMIT)

    @property
    def count(self) -> int:
        """How many rows there are to page through."""
        return min(self.tally.found, self.tally.most)
