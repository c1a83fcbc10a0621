"""What of the API goes, said once where it stands: headers of answers and the OpenAPI document follow from it."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Any, ClassVar, Final, Protocol

from django.utils.http import http_date
from rest_framework.request import Request

# Clients need time; docs/api.md promises it.
MIN_SUNSET_DAYS: Final = 180
# Every handler of a view.
ALL_HANDLERS: Final = ""


@dataclass(frozen=True, slots=True)
class Deprecation:
    """Since when something is called deprecated, from which day on it may be gone, and where the words about it stand."""

    since: date
    sunset: date
    about: str

    def __post_init__(self) -> None:
        if self.sunset - self.since < timedelta(days=MIN_SUNSET_DAYS):
            raise ValueError(
                f"What goes stays for at least {MIN_SUNSET_DAYS} days: {self.since} to {self.sunset} is less."
            )


class DeprecatingView(Protocol):
    """A view, as far as what goes of it is concerned."""

    deprecated: ClassVar[Mapping[str, Deprecation]]
    deprecated_parameters: ClassVar[Mapping[str, Deprecation]]


def note_deprecated_use(request: Request, deprecated: Iterable[Deprecation]) -> None:
    """Remember what goes of what was sent, for the answer to say."""
    # On Django's request: every part of REST framework that reads this one may wrap it anew.
    request._request.deprecated = (*noted_deprecations(request), *deprecated)  # type: ignore[attr-defined]  # ours alone


def noted_deprecations(request: Request) -> tuple[Deprecation, ...]:
    """What goes of what was sent."""
    return getattr(request._request, "deprecated", ())


def handler_deprecation(view: DeprecatingView, handler: str) -> Deprecation | None:
    """Whether what a handler does goes as a whole."""
    return view.deprecated.get(handler) or view.deprecated.get(ALL_HANDLERS)


def deprecations_in(
    view: DeprecatingView, handler: str, request: Request, shown: Any
) -> list[Deprecation]:  # Any: what is answered
    """All that goes of a request and of its answer: the address, a parameter, fields that were sent or are shown."""
    whole = handler_deprecation(view, handler)
    asked = [deprecation for name, deprecation in view.deprecated_parameters.items() if name in request.query_params]
    deprecated_fields = [
        deprecation for name, deprecation in _field_deprecations(view).items() if _has_field(shown, name)
    ]
    return [*([whole] if whole else []), *asked, *noted_deprecations(request), *deprecated_fields]


def deprecation_headers(deprecated: Collection[Deprecation]) -> dict[str, str]:
    """RFC 9745 and RFC 8594; of several the earliest, and all the words about them."""
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
    """Of a noun's answer; other views have no serializer of their own."""
    named = getattr(view, "get_serializer_class", None)
    return getattr(named(), "deprecated", {}) if named and getattr(view, "serializer_class", None) else {}


def _has_field(shown: Any, name: str) -> bool:
    rows = shown.get("results", [shown]) if isinstance(shown, Mapping) else ()
    return any(isinstance(row, Mapping) and name in row for row in rows)
