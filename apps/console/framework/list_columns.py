"""Columns of a list that only name a value, declared in one line each.

A page declares such a column beside its other attributes, and names it in `list_display` or `readonly_fields`:

    list_display = ("title", "author", "last_seen")
    author = person_column("Drafted by", "drafted_by")
    last_seen = moment_column("Last seen", "last_seen_at")

A `field` may lead through a related row: "message.text". A column that computes more than one expression is a method with
`@admin.display`, as in any Django admin. `state_shown` and `updated`, which many pages have, are declared in `GovernedAdmin`.
"""

from collections.abc import Callable
from operator import attrgetter, methodcaller
from typing import Any, TypeAlias

from django.contrib import admin
from django.db.models import F

from apps.console.framework.row_titles import excerpt, format_moment

# A method of the admin class: Django calls it with the row.
ColumnMethod: TypeAlias = Callable[[Any, Any], Any]

BEGINNING_CHARACTERS = 120


def column(
    title: str, show: Callable[[Any], Any], *, ordering: str | F | None = None, boolean: bool | None = None
) -> ColumnMethod:
    """A column that shows the result of one function, sorted by `ordering` where there is one."""

    @admin.display(description=title, ordering=ordering, boolean=boolean)
    def display(page: Any, row: Any) -> Any:
        return show(row)

    return display


def moment_column(title: str, field: str, *, ordering: str = "", missing: str = "never") -> ColumnMethod:
    """A time, sorted by its own field unless `ordering` names another."""
    moment_of = attrgetter(field)

    def show(row: Any) -> str:
        moment = moment_of(row)
        return format_moment(moment) if moment else missing

    return column(title, show, ordering=ordering or field)


def person_column(title: str, field: str) -> ColumnMethod:
    """The name behind the actor label that a field holds."""
    label_of = attrgetter(field)
    return column(title, lambda row: row.people[label_of(row)], ordering=field)


def day_column(title: str, field: str) -> ColumnMethod:
    """A calendar day, such as 7 Nov 2025."""
    day_of = attrgetter(field)
    return column(title, lambda row: f"{day_of(row):%d %b %Y}".lstrip("0"), ordering=field)


def choice_column(title: str, field: str) -> ColumnMethod:
    """The label of the choice that a field holds, under a title that is not the field's name."""
    return column(title, methodcaller(f"get_{field}_display"), ordering=field)


def excerpt_column(title: str, field: str, *, missing: str = "") -> ColumnMethod:
    """The first characters of a text, on one line."""
    text_of = attrgetter(field)
    return column(title, lambda row: excerpt(text_of(row)) or missing)


def beginning_column(title: str, field: str, *, missing: str = "(empty)") -> ColumnMethod:
    """The first characters of a text as they were written."""
    text_of = attrgetter(field)
    return column(title, lambda row: text_of(row)[:BEGINNING_CHARACTERS] or missing)


def model_column(title: str, *, missing: str = "no model") -> ColumnMethod:
    """The model that a row of learning was judged with, and whether it was the stand-in."""
    return column(title, lambda row: f"{row.model or missing}{' (stand-in)' if row.is_stand_in else ''}")
