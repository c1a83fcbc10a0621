"""Numbers that identify nobody, however long: dates, times, prices, versions, error codes."""

import re
from typing import Final

from apps.text_analysis.pii.text_folding import KEPT_MARK, WORD_END, WORD_START

_YEAR = r"(?:19|20)[0-9]{2}"
_DAY = r"(?:0?[1-9]|[12][0-9]|3[01])"
_CLOCK = r"[0-9]{1,2}:[0-9]{2}(?::[0-9]{2}(?:[.,][0-9]{1,9})?)?(?: ?[ap]\.?m\b)?(?: ?Z\b| ?[+-][0-9]{2}:?[0-9]{2})?"
_DATE = rf"(?:{_YEAR}([-/.]){_DAY}\1{_DAY}|{_DAY}([-/.]) ?{_DAY}\2 ?(?:{_YEAR}|[0-9]{{2}}))"
# A run of digits that continues is not a date: 06.12.34.56.78.
_NUMBER_END = r"(?![-/.]?[0-9])(?![\w\x00])"
_NUMBER_START = r"(?<![\w\x00])(?<![0-9][-/.])"
_NUMBER = r"[0-9]{1,12}(?:[.,' ][0-9]{3}){0,4}(?:[.,][0-9]{1,2})?(?![0-9])"
_CURRENCY = (
    r"(?:[$€£¥₹₽₩₺₪]|\b(?:USD|EUR|GBP|CHF|JPY|SEK|NOK|DKK|PLN|CZK|HUF|CAD|AUD|NZD|INR|BRL|MXN|CNY|KRW|TRY|ZAR|SGD"
    r"|dollars?|euros?|pounds?|francs?|cents?|pesos?|yen|Franken|livres)\b)"
)
_UNIT = (
    r"(?:%|°|(?:[kmcn]?m|[kmµ]?g|[kmgt]i?b(?:it|yte)?s?|m?l|[km]?w|[kmg]?hz|px|dpi|ms|s|h|min|km/h|mph|ft|lbs?|oz|miles?"
    r"|seconds?|minutes?|hours?|days?|weeks?|months?|years?|points?|credits?|tokens?|characters?|bytes?|requests?|users?"
    r"|customers?|items?|pieces?|rows?|lines?|times|people|Sekunden|Minuten|Stunden|Tagen?|Wochen|Monaten?|Jahren?|Punkten?"
    r"|Zeichen|Kunden|Stück|secondes|heures|jours|semaines|mois|ans|caracteres|segundos|minutos|horas|dias|semanas|puntos)\b)"
)
_ERROR_WORD = (
    r"(?:error|err|fehler(?:code|nummer)?|erreur|status|exit|http|bug|issue|ticket type|stop code|port|sqlstate|signal)"
)
_STANDARD_PREFIX = (
    r"(?:ISO|IEC|IEEE|RFC|DIN|EN|ANSI|CVE|CWE|KB|ORA|ERR|PEP|USB|HTTP|TLS|AES|SHA|UTF|PSU|E|BSI|NIST|GDPR|PCI)"
)

# Never a telephone number, whatever precedes it.
_VERSION_WORD = r"v|version|ver\.?|release|build|firmware|python|django|ios|android|windows|macos|chrome|firefox"
_GROUPED_NUMBER = r"[1-9][0-9]{0,2}(?:,[0-9]{3}){1,5}(?:\.[0-9]{1,4})?"

# Never a telephone number, whatever precedes it.
_IMPERSONAL_PATTERNS: Final = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"{_NUMBER_START}{_DATE}(?: ?[T,]? ?{_CLOCK})?{_NUMBER_END}",
        rf"{_NUMBER_START}{_DATE} ?- ?(?=[0-9]{{1,4}}[-/.])",
        rf"{WORD_START}{_CLOCK}(?: ?- ?{_CLOCK})?{WORD_END}",
        rf"{_CURRENCY} ?{_NUMBER}(?: ?- ?{_NUMBER})?{WORD_END}",
        rf"{_NUMBER_START}(?:{_NUMBER} ?- ?)?{_NUMBER} ?{_CURRENCY}",
        rf"{_NUMBER_START}(?:{_NUMBER} ?- ?)?{_NUMBER} ?{_UNIT}",
        rf"\b{_ERROR_WORD}(?: (?:code|number|no|nr|type))?[ :.#(-]{{0,3}}[A-Z]{{0,8}}[-_]?(?:0x)?[0-9][0-9A-F]{{1,9}}{WORD_END}",
        rf"{WORD_START}0x[0-9A-F]{{2,16}}{WORD_END}",
        rf"{WORD_START}{_STANDARD_PREFIX}[ _-]?[0-9]{{2,8}}(?:[:.-][0-9]{{1,7}}){{0,3}}{WORD_END}",
        rf"{WORD_START}(?:err|error|fault|warning|status|http)_[A-Z_]{{0,24}}[0-9]{{1,6}}{WORD_END}",
        rf"{WORD_START}(?:{_VERSION_WORD}) ?[0-9]{{1,8}}(?:[.-][0-9a-z]{{1,8}}){{0,5}}{WORD_END}",
        rf"{_NUMBER_START}{_YEAR}(?: ?[-/] ?(?:{_YEAR}|[0-9]{{2}})|(?:,? {_YEAR}){{1,12}}){_NUMBER_END}",
        rf"{_NUMBER_START}{_GROUPED_NUMBER}{_NUMBER_END}",
        rf"{WORD_START}[0-9]{{1,4}}-[a-z]{{2,20}}(?:-[a-z]{{2,20}})?{WORD_END}",
        rf"{WORD_START}[a-z]{{3,20}}-[0-9]{{1,2}}{WORD_END}",
    )
)
# A telephone number may look like these, so they do not count as impersonal after words that announce a telephone number.
_LIKELY_IMPERSONAL_PATTERNS: Final = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"{_NUMBER_START}(?:19|20)[0-9]{{2}}(?:0[1-9]|1[0-2])(?:0[1-9]|[12][0-9]|3[01])(?:[T_-]?[0-9]{{6}}Z?)?{_NUMBER_END}",
        rf"{_NUMBER_START}(?:0|[1-9][0-9]{{0,2}})(?:\.[0-9]{{1,3}}){{1,3}}{_NUMBER_END}",
        rf"{_NUMBER_START}[1-9][0-9]{{0,2}}(?:[.'][0-9]{{3}}){{1,5}}(?:,[0-9]{{1,4}})?{_NUMBER_END}",
        rf"{_NUMBER_START}[0-9]{{1,6}},[0-9]{{1,8}}{_NUMBER_END}",
        rf"{_NUMBER_START}[1-9][0-9]{{3,5}}\.[0-9]{{1,5}}{_NUMBER_END}",
        rf"{_NUMBER_START}-?(?:[0-9]{{1,3}}\.[0-9]{{3,8}}|0\.[0-9]{{1,18}}){_NUMBER_END}",
        rf"{_NUMBER_START}(?:0|[1-9][0-9]?)(?:\.[0-9]{{1,2}}){{1,2}}\.[0-9]{{4,8}}{_NUMBER_END}",
    )
)
_PHONE_GAP = r"[^\n\x00\x01\d;|]{0,24}"
_REACH_OBJECT = (
    r"(?:[ :-]{1,2}(?:me|us|back|him|her|them|at|on|by|under|unter|au|al|mich|uns|an|le|la|moi|nous"
    r"|number|nummer|numero)\b\.?){0,4}"
)
_PHONE_WORD = (
    r"(?:(?:tele|cell ?|smart)?phone|tel|mobile|movil|cell|fax|whatsapp|handy|portable|durchwahl|hotline|sms"
    r"|telefon\w{0,9}|mobil\w{0,9})"
)
_REACH_VERB = (
    r"(?:call|calling|text|ring|reach|reached|dial|contact|ruf|rufen|anrufen|erreich\w{0,5}|appel\w{0,4}|joign\w{0,5}"
    r"|joindre|rappel\w{0,4}|llam\w{0,6}|marque|bel)"
)
_PHONE_ANNOUNCEMENT: Final = re.compile(
    rf"{WORD_START}(?:{_PHONE_WORD}\b{_PHONE_GAP}|{_REACH_VERB}{_REACH_OBJECT}[ :]{{0,3}})\Z", re.IGNORECASE
)
CONTEXT_CHARACTERS: Final = 40


def hide_impersonal_numbers(text: str) -> str:
    """Return a folded text with impersonal numbers overwritten, so that no finder matches them or across them."""
    for pattern in _IMPERSONAL_PATTERNS:
        text = pattern.sub(_keep_match, text)
    for pattern in _LIKELY_IMPERSONAL_PATTERNS:
        text = pattern.sub(_keep_unless_phone, text)
    return text


def is_phone_announced(text: str, start: int) -> bool:
    """Return whether the text shortly before announces a telephone number."""
    return bool(_PHONE_ANNOUNCEMENT.search(text[max(0, start - CONTEXT_CHARACTERS) : start]))


def _keep_match(found: re.Match[str]) -> str:
    return KEPT_MARK * len(found[0])


def _keep_unless_phone(found: re.Match[str]) -> str:
    return found[0] if is_phone_announced(found.string, found.start()) else _keep_match(found)
