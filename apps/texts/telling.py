"""What a tool's answer tells about somebody: names, ids, addresses, by the names of its keys."""

import re
from collections.abc import Iterable, Mapping
from typing import Final

from apps.texts.known import Known

DEEPEST: Final = 12

_NAME_KEY: Final = re.compile(
    r"(?:^|_)(?:(?:first|last|full|given|family|middle|maiden|sur|customer|user|contact)_?)?name$"
)
_VALUE_KEY: Final = re.compile(
    r"(?:^|_)(?:id|ids|uuid|number|no|nr|code|reference|ref|reservations?|orders?|bookings?|e_?mail|phone|mobile|tel|fax"
    r"|address|address_?[12]|line_?[12]|street|zip|post_?code|postal_?code|dob|birth_?date|date_of_birth|birthday|iban"
    r"|card|account|passport|username|login|payment_methods)$"
)
_PUBLIC_KEY: Final = re.compile(
    r"(?:^|_)(?:flight|product|item|sku|model|error|status|country|currency|airport|promo|discount|language|zip_country)"
    r"_?(?:id|ids|number|no|nr|code)$"
)
_KEYED_BY_ID: Final = re.compile(r"(?:^|_)(?:ids|payment_methods|methods|reservations|orders|bookings|cards|accounts)$")
_PEOPLE_KEY: Final = re.compile(r"(?:^|_)name$")
_SNAKE: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def known_from(result: object, key: str = "", depth: int = 0) -> Known:
    """What a tool's answer, read from JSON, says about somebody: told by the names of its keys."""
    if depth > DEEPEST:
        return Known()
    if isinstance(result, Mapping):
        return _of_mapping(result, key, depth)
    if isinstance(result, list | tuple):
        return _joined(known_from(item, key, depth + 1) for item in result)
    if isinstance(result, bool) or not isinstance(result, str | int):
        return Known()
    return _of_value(str(result), key)


def _of_mapping(result: Mapping[object, object], key: str, depth: int) -> Known:
    found = [known_from(value, _deeper(key, str(name)), depth + 1) for name, value in result.items()]
    if _KEYED_BY_ID.search(key):
        found.append(Known(values=frozenset(name for name in map(str, result) if re.search("[0-9]", name))))
    return _joined(found)


def _deeper(key: str, name: str) -> str:
    """The key of a value; inside `name` and `address` every key is part of it."""
    snake = _SNAKE.sub("_", name).lower()
    return f"{snake}_name" if _PEOPLE_KEY.search(key) and not snake.endswith("name") else snake


def _of_value(value: str, key: str) -> Known:
    if _NAME_KEY.search(key):
        return Known(names=frozenset({value}))
    if _VALUE_KEY.search(key) and not _PUBLIC_KEY.search(key):
        return Known(values=frozenset({value}))
    return Known()


def _joined(found: Iterable[Known]) -> Known:
    names: set[str] = set()
    values: set[str] = set()
    for known in found:
        names |= known.names
        values |= known.values
    return Known(frozenset(names), frozenset(values))
