"""What a page shows beside its form: values looked up by a function of the noun's file, for a template that only shows."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest


@dataclass(frozen=True, slots=True)
class Panels:
    """How a page's values are read for one row."""

    read: Callable[[Any, HttpRequest], dict[str, Any]]


def _no_values(row: Any, request: HttpRequest) -> dict[str, Any]:
    del row, request
    return {}


NO_PANELS = Panels(_no_values)
