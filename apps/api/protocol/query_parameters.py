"""Query parameters: refusal of unknown ones, parsing of booleans and versions, and sparse fields (`fields=id,version`).

These functions serve addresses that have no filter set.
"""

from collections.abc import Collection, Mapping
from typing import Any, Final

from rest_framework.exceptions import ValidationError
from rest_framework.request import Request


def reject_unknown_parameters(request: Request, known: Collection[str]) -> None:
    """Refuse an address that asks by a word which it does not know, and say which it knows."""
    if unknown := sorted(set(request.query_params) - set(known)):
        message = f"There is no such parameter. There are: {', '.join(sorted(known))}."
        raise ValidationError({name: [message] for name in unknown})


def is_true(request: Request, name: str) -> bool:
    """Whether a parameter says true; left out, it says false."""
    value = request.query_params.get(name, "false")
    if value not in {"true", "false"}:
        raise ValidationError({name: ["Say true or false."]})
    return value == "true"


def read_version_number(request: Request, name: str, advice: str) -> int:
    """A version of a row by its number; anything else is refused with the advice."""
    value = request.query_params.get(name, "")
    if not value.isascii() or not value.isdigit() or not 1 <= int(value[:12]) < 2**31:
        raise ValidationError({name: [advice]})
    return int(value)


FIELDS: Final = "fields"


def refuse_unknown_fields(request: Request, known: Collection[str]) -> frozenset[str] | None:
    """The names that are asked for, or None for all; one that nobody knows is refused."""
    value = request.query_params.get(FIELDS)
    if value is None:
        return None
    named = frozenset(name.strip() for name in value.split(","))
    if named - set(known):
        raise ValidationError({FIELDS: [f"Name some of these, with commas between: {', '.join(sorted(known))}."]})
    return named


def select_fields(named: frozenset[str] | None, payload: Mapping[str, Any]) -> Mapping[str, Any]:
    """What is said, as far as it is asked for."""
    return payload if named is None else {name: value for name, value in payload.items() if name in named}
