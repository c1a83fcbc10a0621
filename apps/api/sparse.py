"""Only the fields that are asked for, by `fields=id,version`."""

from collections.abc import Collection, Mapping
from typing import Any, Final

from rest_framework.exceptions import ValidationError
from rest_framework.request import Request

FIELDS: Final = "fields"


def refuse_unknown_fields(request: Request, known: Collection[str]) -> frozenset[str] | None:
    """The names that are asked for, or None for all; one that nobody knows is refused."""
    said = request.query_params.get(FIELDS)
    if said is None:
        return None
    named = frozenset(name.strip() for name in said.split(","))
    if named - set(known):
        raise ValidationError({FIELDS: [f"Name some of these, with commas between: {', '.join(sorted(known))}."]})
    return named


def only(named: frozenset[str] | None, said: Mapping[str, Any]) -> Mapping[str, Any]:
    """What is said, as far as it is asked for."""
    return said if named is None else {name: value for name, value in said.items() if name in named}
