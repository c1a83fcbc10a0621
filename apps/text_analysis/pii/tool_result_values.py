"""Extracts names, ids and addresses of people from a tool's JSON result, by its keys."""

import json
import re
from collections.abc import Iterable, Mapping
from typing import Final

from apps.text_analysis.pii.known_values import KnownValues

MAX_DEPTH: Final = 12

_PERSON_WORDS: Final = (
    "user|customer|client|contact|passenger|traveller|traveler|guest|patient|member|subscriber|recipient|sender|buyer"
    "|driver|employee|owner|holder|cardholder|account_holder|person|profile|caller"
)
_PERSON_KEY: Final = re.compile(rf"(?:^|_)(?:{_PERSON_WORDS})s?$")
_NAME_KEY: Final = re.compile(
    rf"(?:^|_)(?:(?:first|last|full|given|family|middle|maiden|display|legal|{_PERSON_WORDS})_?names?|surname|forename|nickname)$"
)
# Things have names as well; an object with one of these keys next to the name is a person.
_PERSON_DETAIL_KEY: Final = re.compile(
    r"(?:^|_)(?:e_?mails?|phones?|phone_numbers?|mobile|dob|birth_?(?:date|day)|date_of_birth|gender|(?:first|last)_name)$"
)
_VALUE_KEY: Final = re.compile(
    r"(?:^|_)(?:id|ids|uuid|number|no|nr|code|reference|ref|reservations?|orders?|bookings?|e_?mails?|phones?|mobile|tel|fax"
    r"|address|address_?[12]|line_?[12]|street|zip|post_?code|postal_?code|dob|birth_?date|date_of_birth|birthday|iban"
    r"|card|account|passport|username|login|payment_methods)$"
)
_PUBLIC_KEY: Final = re.compile(
    r"(?:^|_)(?:flight|product|item|variant|sku|model|category|plan|store|shop|branch|department|warehouse|error|status"
    r"|country|currency|language|locale|airport|iata|gate|room|page|version|seat|step|row|promo|discount|coupon|tool|agent"
    r"|skill|template|queue)_?(?:ids?|number|no|nr|code)$"
)
_CODE_KEY: Final = re.compile(r"(?:^|_)code$")
_KEYED_BY_ID: Final = re.compile(r"(?:^|_)(?:ids|payment_methods|methods|reservations|orders|bookings|cards|accounts)$")
_SNAKE: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
# Five capitals may be a reservation code; any other single word is a category: visa, none, gold.
_SINGLE_WORD: Final = re.compile(r"\s*[^\W\d_]*\s*")
_CAPITALS: Final = re.compile(r"[A-Z]{5,12}")


# Words for anonymous people and for the sides of a conversation, which are not names.
_NOT_A_NAME: Final = frozenset(
    (
        f"{_PERSON_WORDS.replace('|', ' ')} customers clients users guests members first second third new old test demo anonymous"
        " unknown"
        " visitor web chat support service team agent order orders mr mrs ms"
    ).split()
)


def known_values_of_sender(name: str) -> KnownValues:
    """Return a sender's name as a known value; generic words, as in “New customer”, are left out."""
    clean_name = " ".join(word for word in name.split() if word.casefold().strip(".,:;()") not in _NOT_A_NAME)
    return KnownValues(names=frozenset([clean_name] if clean_name else []))


def known_values_in_notes(text: str) -> KnownValues:
    """Return known values from notes on a customer, by the words before a colon: `- Name: Mia Li`; notes may be JSON (R084)."""
    try:
        return known_values_from(json.loads(text), "customer")
    except (ValueError, RecursionError):
        parts = (line.partition(":") for line in text.splitlines())
        pairs = ((_to_snake_case(key.strip(" \t-*").replace(" ", "_")), value.strip(" \t*")) for key, _, value in parts)
        return _merge(known_values_from({key: value}, "customer") for key, value in pairs if value)


def known_values_from(result: object, key: str = "", depth: int = 0) -> KnownValues:
    """Return known values from a tool's JSON result, by its keys."""
    if depth > MAX_DEPTH:
        return KnownValues()
    if isinstance(result, Mapping):
        return _values_of_mapping({str(name): value for name, value in result.items()}, key, depth)
    if isinstance(result, list | tuple):
        return _merge(known_values_from(item, key, depth + 1) for item in result)
    if isinstance(result, bool) or not isinstance(result, str | int):
        return KnownValues()
    return _classify_value(str(result), key)


def _values_of_mapping(result: Mapping[str, object], key: str, depth: int) -> KnownValues:
    keys = {name: _to_snake_case(name) for name in result}
    if _PERSON_KEY.search(key) or any(map(_PERSON_DETAIL_KEY.search, keys.values())):
        keys |= {name: "full_name" for name, plain in keys.items() if plain == "name"}
    elif key == "name" or _NAME_KEY.search(key):
        keys |= {name: f"{plain}_name" for name, plain in keys.items() if not plain.endswith("name")}
    found = [known_values_from(value, keys[name], depth + 1) for name, value in result.items()]
    if _KEYED_BY_ID.search(key):
        found.append(KnownValues(values=frozenset(name for name in result if re.search("[0-9]", name))))
    return _merge(found)


def _to_snake_case(name: str) -> str:
    return _SNAKE.sub("_", name).replace("-", "_").lower()


def _classify_value(value: str, key: str) -> KnownValues:
    if _NAME_KEY.search(key):
        return KnownValues(names=frozenset({value}))
    if _VALUE_KEY.search(key) and not _PUBLIC_KEY.search(key) and _is_identifying(value, key):
        return KnownValues(values=frozenset({value}))
    return KnownValues()


def _is_identifying(value: str, key: str) -> bool:
    """Return whether a value identifies a person; a single plain word does not."""
    return not _SINGLE_WORD.fullmatch(value) or (bool(_CAPITALS.fullmatch(value)) and not _CODE_KEY.search(key))


def _merge(found: Iterable[KnownValues]) -> KnownValues:
    names: set[str] = set()
    values: set[str] = set()
    for known in found:
        names |= known.names
        values |= known.values
    return KnownValues(frozenset(names), frozenset(values))
