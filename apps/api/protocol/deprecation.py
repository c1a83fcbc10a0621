"""Deprecations of the API, each declared where it applies. Response headers and the OpenAPI document are derived from them."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Any, ClassVar, Final, Protocol

from django.utils.http import http_date
from rest_framework.request import Request

# The minimum time from announcement to removal, as promised in docs/api.md.
MIN_SUNSET_DAYS: Final = 180
# Stands for every handler of a view.
ALL_HANDLERS: Final = ""


@dataclass(frozen=True, slots=True)
class Deprecation:
    """One deprecation: its date, the earliest removal date, and the address of its documentation."""

    since: date
    sunset: date
    about: str

    def __post_init__(self) -> None:
        if self.sunset - self.since < timedelta(days=MIN_SUNSET_DAYS):
            raise ValueError(
                f"A deprecated part stays for at least {MIN_SUNSET_DAYS} days; {self.since} to {self.sunset} is less."
            )


class DeprecatingView(Protocol):
    """The attributes of a view that declare deprecations."""

    deprecated: ClassVar[Mapping[str, Deprecation]]
    deprecated_parameters: ClassVar[Mapping[str, Deprecation]]


def note_deprecated_use(request: Request, deprecated: Iterable[Deprecation]) -> None:
    """Record the deprecated parts of a request, so that the response can name them."""
    # Stored on Django's request, because parts of REST framework wrap their own request anew.
    request._request.deprecated = (*noted_deprecations(request), *deprecated)  # type: ignore[attr-defined]  # our own attribute


def noted_deprecations(request: Request) -> tuple[Deprecation, ...]:
    """Return the recorded deprecated parts of this request."""
    return getattr(request._request, "deprecated", ())


def handler_deprecation(view: DeprecatingView, handler: str) -> Deprecation | None:
    """Return the deprecation of a whole handler; None if it is not deprecated."""
    return view.deprecated.get(handler) or view.deprecated.get(ALL_HANDLERS)


def deprecations_in(
    view: DeprecatingView, handler: str, request: Request, shown: Any
) -> list[Deprecation]:  # Any: the response data
    """Return all deprecations that affect a request and its response: the address, parameters, fields sent or returned."""
    whole = handler_deprecation(view, handler)
    asked = [deprecation for name, deprecation in view.deprecated_parameters.items() if name in request.query_params]
    deprecated_fields = [
        deprecation for name, deprecation in _field_deprecations(view).items() if _has_field(shown, name)
    ]
    return [*([whole] if whole else []), *asked, *noted_deprecations(request), *deprecated_fields]


def deprecation_headers(deprecated: Collection[Deprecation]) -> dict[str, str]:
    """Return the headers of RFC 9745 and RFC 8594, with the earliest dates and all links of these deprecations."""
    if not deprecated:
        return {}
    since, sunset = (
        min(_midnight(day) for day in days) for days in zip(*((s.since, s.sunset) for s in deprecated), strict=True)
    )
    links = dict.fromkeys(f'<{deprecation.about}>; rel="deprecation"; type="text/html"' for deprecation in deprecated)
    return {"Deprecation": f"@{since}", "Sunset": http_date(sunset), "Link": ", ".join(links)}


def _midnight(day: date) -> int:
    return int(datetime.combine(day, time(), UTC).timestamp())


def _field_deprecations(view: DeprecatingView) -> Mapping[str, Deprecation]:
    """Return the deprecated fields of a noun's serializer; empty for views without one."""
    named = getattr(view, "get_serializer_class", None)
    return getattr(named(), "deprecated", {}) if named and getattr(view, "serializer_class", None) else {}


def _has_field(shown: Any, name: str) -> bool:
    rows = shown.get("results", [shown]) if isinstance(shown, Mapping) else ()
    return any(isinstance(row, Mapping) and name in row for row in rows)
