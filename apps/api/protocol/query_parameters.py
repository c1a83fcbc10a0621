"""Query parameters: refusal of unknown ones, parsing of booleans and versions, and sparse fields (`fields=id,version`).

These functions are for addresses without a filter set.
"""

from collections.abc import Collection, Mapping
from typing import Any, Final

from rest_framework.exceptions import ValidationError
from rest_framework.request import Request


def reject_unknown_parameters(request: Request, known: Collection[str]) -> None:
    """Refuse unknown query parameters, and name the known ones."""
    if unknown := sorted(set(request.query_params) - set(known)):
        message = f"There is no such parameter. Known parameters: {', '.join(sorted(known))}."
        raise ValidationError({name: [message] for name in unknown})


def is_true(request: Request, name: str) -> bool:
    """Return whether a parameter is `true`; false if it is missing."""
    value = request.query_params.get(name, "false")
    if value not in {"true", "false"}:
        raise ValidationError({name: ["Send true or false."]})
    return value == "true"


def read_version_number(request: Request, name: str, advice: str) -> int:
    """Return a version number from a parameter. Any other value is refused with the advice."""
    value = request.query_params.get(name, "")
    if not value.isascii() or not value.isdigit() or not 1 <= int(value[:12]) < 2**31:
        raise ValidationError({name: [advice]})
    return int(value)


FIELDS: Final = "fields"


def refuse_unknown_fields(request: Request, known: Collection[str]) -> frozenset[str] | None:
    """Return the requested field names, or None for all. Unknown names are refused."""
    value = request.query_params.get(FIELDS)
    if value is None:
        return None
    named = frozenset(name.strip() for name in value.split(","))
    if named - set(known):
        raise ValidationError({FIELDS: [f"Send some of these names, separated by commas: {', '.join(sorted(known))}."]})
    return named


def select_fields(named: frozenset[str] | None, payload: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the requested fields of a payload."""
    return payload if named is None else {name: value for name, value in payload.items() if name in named}
