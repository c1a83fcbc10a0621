"""Bounded counts of rows: a list is counted as far as people page, so a million rows cost no more than some thousands."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from django.core.paginator import Paginator
from django.db.models import IntegerField, QuerySet, Subquery
from django.utils.functional import cached_property

from apps.governance.actors import Actor
from apps.tenants.models import TenantSettings

# Up to this limit the number is exact; beyond it, pages say that there are more.
COUNT_LIMIT: Final = 1_000
# People who page on are counted for up to this page; beyond it they filter the list.
MAX_PAGES: Final = 10_000


class RowCountSubquery(Subquery):
    """A subquery that counts the rows of a query."""

    template = "(SELECT count(*) FROM (%(subquery)s) AS counted)"
    # Django does not run a query that it knows to be empty; its count is 0.
    empty_result_set_value = 0


@dataclass(frozen=True, slots=True)
class BoundedCount:
    """A number of rows, and the limit of the count."""

    found: int
    most: int

    def __str__(self) -> str:
        return f"{self.most}+" if self.found > self.most else str(self.found)


def count_rows(actor: Actor, queries: Mapping[str, QuerySet[Any]], most: int = COUNT_LIMIT) -> dict[str, BoundedCount]:
    """Return the number of rows of each query, counted in one statement."""
    counted = {
        f"of_{number}": RowCountSubquery(rows.order_by().values("pk")[: most + 1], output_field=IntegerField())
        for number, rows in enumerate(queries.values())
    }
    # The one row that every tenant has.
    found = TenantSettings.objects.visible_to(actor).values_list(*counted.values()).get()
    return {name: BoundedCount(count, most) for name, count in zip(queries, found, strict=True)}


class CountedPaginator(Paginator):  # type: ignore[type-arg]  # generic in its stubs alone
    """Pages of rows that the list has counted with its tabs; other rows are counted up to the same limit."""

    template_name = "console/framework/pagination.html"

    @property
    def tally(self) -> BoundedCount:
        """The number of rows, as pages show it."""
        known: BoundedCount | None = getattr(self.object_list, "tally", None)
        return known or self.counted

    @cached_property
    def counted(self) -> BoundedCount:
        """The count of rows that no list has counted, such as those to choose from."""
        rows: Any = self.object_list
        return BoundedCount(rows.order_by()[: COUNT_LIMIT + 1].count(), COUNT_LIMIT)

    @property
    def count(self) -> int:
        """The number of rows to page through."""
        return min(self.tally.found, self.tally.most)
