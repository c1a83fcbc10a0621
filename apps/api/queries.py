"""What the words behind a question mark may be, on addresses that have no filters."""

from collections.abc import Collection

from rest_framework.exceptions import ValidationError
from rest_framework.request import Request


def refuse_unknown(request: Request, known: Collection[str]) -> None:
    """Refuse an address that asks by a word which it does not know, and say which it knows."""
    if unknown := sorted(set(request.query_params) - set(known)):
        said = f"There is no such parameter. There are: {', '.join(sorted(known))}."
        raise ValidationError({name: [said] for name in unknown})


def is_true(request: Request, name: str) -> bool:
    """Whether a parameter says true; left out, it says false."""
    said = request.query_params.get(name, "false")
    if said not in {"true", "false"}:
        raise ValidationError({name: ["Say true or false."]})
    return said == "true"


def version_named(request: Request, name: str, advice: str) -> int:
    """A version of a row by its number; anything else is refused with the advice."""
    said = request.query_params.get(name, "")
    if not said.isascii() or not said.isdigit() or not 1 <= int(said[:12]) < 2**31:
        raise ValidationError({name: [advice]})
    return int(said)
