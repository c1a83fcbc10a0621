"""Finds personal numbers: cards, accounts, identity numbers, telephone numbers, and long numbers of unknown kind."""

import re
from collections.abc import Iterator
from typing import Final, TypeAlias

from apps.text_analysis.pii.impersonal_numbers import is_phone_announced
from apps.text_analysis.pii.text_folding import WORD_END, WORD_START

FoundSpan: TypeAlias = "tuple[int, int, str]"

CARD: Final = "card"
IBAN: Final = "iban"
IDENTITY: Final = "id-number"
PHONE: Final = "phone"
NUMBER: Final = "number"

CARD_DIGITS: Final = range(13, 20)
IBAN_CHARACTERS: Final = 15
PHONE_DIGITS: Final = range(7, 18)
ANNOUNCED_PHONE_DIGITS: Final = range(5, 18)
LONG_NUMBER_DIGITS: Final = 8

_CARD: Final = re.compile(rf"(?<![\w\x00+])[2-6][0-9](?:[ -]?[0-9]){{11,17}}{WORD_END}")
_CARD_START: Final = re.compile(r"4|5[0-8]|2[2-7]|3[0-9]|6")
_IBAN: Final = re.compile(rf"{WORD_START}[A-Z]{{2}}[0-9]{{2}}(?:[ -]?[A-Z0-9]){{11,30}}", re.IGNORECASE)
_DIGIT_RUN: Final = re.compile(r"(?<![\w\x00])[+(]{0,2}[0-9](?:(?: ?[-/] ?|[.]| ?\(|\)[ -]?| )?[0-9]){4,}(?![\w\x00])")
_DIGIT_GROUP: Final = re.compile(r"[0-9]+")
# 06 12 34 56 78, (212) 555-0123, 212-555-0123, 030 23125 012
_PHONE_SHAPE: Final = re.compile(
    r"0[0-9](?:[ .-][0-9]{2}){4}|\([0-9]{2,5}\)[0-9 -]{6,12}|0[1-9][0-9]{1,4} ?[ /-] ?[0-9](?:[ -]?[0-9]){5,9}"
    r"|(?:1-)?[2-9][0-9]{2}([. -])[2-9][0-9]{2}\1[0-9]{4}"
)
# Unambiguous forms: US social security number, AHV, codice fiscale, CPF, NIR, UUID.
_IDENTITY: Final = re.compile(
    rf"{WORD_START}(?:[0-9]{{3}}-[0-9]{{2}}-[0-9]{{4}}"
    r"|756\.[0-9]{4}\.[0-9]{4}\.[0-9]{2}"
    r"|[A-Z]{6}[0-9]{2}[A-EHLMPRST][0-9]{2}[A-Z][0-9]{3}[A-Z]"
    r"|[0-9]{3}\.[0-9]{3}\.[0-9]{3}-[0-9]{2}"
    r"|[12] [0-9]{2} [01][0-9] [0-9][0-9AB] [0-9]{3} [0-9]{3} [0-9]{2}"
    rf"|[0-9A-F]{{8}}(?:-[0-9A-F]{{4}}){{3}}-[0-9A-F]{{12}}){WORD_END}",
    re.IGNORECASE,
)
_SPANISH_ID: Final = re.compile(
    rf"{WORD_START}(?:([XYZ])[ -]?([0-9]{{7}})|([0-9]{{8}}))[ -]?([A-Z]){WORD_END}", re.IGNORECASE
)
_SPANISH_CHECK_LETTERS: Final = "TRWAGMYFPDXBNJZSQVHLCKE"


def identities_in(text: str) -> Iterator[FoundSpan]:
    """Yield national identity numbers and UUIDs."""
    for found in _IDENTITY.finditer(text):
        yield *found.span(), IDENTITY
    for found in _SPANISH_ID.finditer(text):
        number = f"{'XYZ'.index(found[1].upper())}{found[2]}" if found[1] else found[3]
        if _SPANISH_CHECK_LETTERS[int(number) % 23] == found[4].upper():
            yield *found.span(), IDENTITY


def accounts_in(text: str) -> Iterator[FoundSpan]:
    """Yield IBANs with valid check digits, whatever text follows them."""
    for found in _IBAN.finditer(text):
        for end in range(found.end(), found.start() + IBAN_CHARACTERS - 1, -1):
            if _is_group_end(text, end) and _is_valid_iban(text[found.start() : end]):
                yield found.start(), end, IBAN
                break


def _is_group_end(text: str, place: int) -> bool:
    return place == len(text) or not (text[place].isalnum() or text[place] in "_\x00")


def _is_valid_iban(iban: str) -> bool:
    characters = re.sub(r"[ -]", "", iban)
    turned = characters[4:] + characters[:4]
    return int("".join(str(int(character, 36)) for character in turned)) % 97 == 1


def cards_in(text: str) -> Iterator[FoundSpan]:
    """Yield card numbers: a known prefix, 13 to 19 digits, and a valid Luhn digit."""
    for found in _CARD.finditer(text):
        digits = re.sub(r"[ -]", "", found[0])
        if len(digits) in CARD_DIGITS and _CARD_START.match(digits) and _is_luhn(digits):
            yield *found.span(), CARD


def _is_luhn(digits: str) -> bool:
    doubled = (sum(divmod(2 * int(digit), 10)) for digit in digits[-2::-2])
    return (sum(map(int, digits[-1::-2])) + sum(doubled)) % 10 == 0


def telephones_in(text: str) -> Iterator[FoundSpan]:
    """Yield telephone numbers and any other long number; prices, dates and similar numbers are hidden beforehand."""
    for found in _DIGIT_RUN.finditer(text):
        if kind := _number_kind(text, found):
            yield *found.span(), kind


def _number_kind(text: str, run: re.Match[str]) -> str:
    written = run[0]
    groups = [len(group) for group in _DIGIT_GROUP.findall(written)]
    digits = sum(groups)
    if is_phone_announced(text, run.start()) and digits in ANNOUNCED_PHONE_DIGITS:
        return PHONE
    if written.lstrip("(").startswith(("+", "00")) and digits in PHONE_DIGITS:
        return PHONE
    if not _can_be_one_number(written):
        return ""
    if _PHONE_SHAPE.fullmatch(written):
        return PHONE
    # 12 15 18 21 is a list of figures, however long.
    return NUMBER if digits >= LONG_NUMBER_DIGITS and max(groups) >= 3 else ""


def _can_be_one_number(written: str) -> bool:
    """Return whether a run may be a single number. Ranges and alternatives may not: 408/409/429, 1.5-2.1, 1000 / 2000."""
    several = written.count("/") > 1 or ("." in written and ("-" in written or "/" in written))
    return not several and (" / " not in written or written.startswith(("0", "(")))
