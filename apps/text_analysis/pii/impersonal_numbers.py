"""What is no person's however many digits it has: dates, times, prices, versions, error codes."""

import re
from typing import Final

from apps.text_analysis.pii.folding import KEPT, LEFT, RIGHT

_YEAR = r"(?:19|20)[0-9]{2}"
_DAY = r"(?:0?[1-9]|[12][0-9]|3[01])"
_CLOCK = r"[0-9]{1,2}:[0-9]{2}(?::[0-9]{2}(?:[.,][0-9]{1,9})?)?(?: ?[ap]\.?m\b)?(?: ?Z\b| ?[+-][0-9]{2}:?[0-9]{2})?"
_DATE = rf"(?:{_YEAR}([-/.]){_DAY}\1{_DAY}|{_DAY}([-/.]) ?{_DAY}\2 ?(?:{_YEAR}|[0-9]{{2}}))"
# A stretch of digits that goes on is no date: 06.12.34.56.78.
_STOP = r"(?![-/.]?[0-9])(?![\w\x00])"
_OPEN = r"(?<![\w\x00])(?<![0-9][-/.])"
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
_WRONG = (
    r"(?:error|err|fehler(?:code|nummer)?|erreur|status|exit|http|bug|issue|ticket type|stop code|port|sqlstate|signal)"
)
_PRODUCT = r"(?:ISO|IEC|IEEE|RFC|DIN|EN|ANSI|CVE|CWE|KB|ORA|ERR|PEP|USB|HTTP|TLS|AES|SHA|UTF|PSU|E|BSI|NIST|GDPR|PCI)"

# Never a telephone number, whatever stands before it.
_PLAN = r"v|version|ver\.?|release|build|firmware|python|django|ios|android|windows|macos|chrome|firefox"
_GROUPED = r"[1-9][0-9]{0,2}(?:,[0-9]{3}){1,5}(?:\.[0-9]{1,4})?"

# Never a telephone number, whatever stands before it.
_SURELY: Final = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"{_OPEN}{_DATE}(?: ?[T,]? ?{_CLOCK})?{_STOP}",
        rf"{_OPEN}{_DATE} ?- ?(?=[0-9]{{1,4}}[-/.])",
        rf"{LEFT}{_CLOCK}(?: ?- ?{_CLOCK})?{RIGHT}",
        rf"{_CURRENCY} ?{_NUMBER}(?: ?- ?{_NUMBER})?{RIGHT}",
        rf"{_OPEN}(?:{_NUMBER} ?- ?)?{_NUMBER} ?{_CURRENCY}",
        rf"{_OPEN}(?:{_NUMBER} ?- ?)?{_NUMBER} ?{_UNIT}",
        rf"\b{_WRONG}(?: (?:code|number|no|nr|type))?[ :.#(-]{{0,3}}[A-Z]{{0,8}}[-_]?(?:0x)?[0-9][0-9A-F]{{1,9}}{RIGHT}",
        rf"{LEFT}0x[0-9A-F]{{2,16}}{RIGHT}",
        rf"{LEFT}{_PRODUCT}[ _-]?[0-9]{{2,8}}(?:[:.-][0-9]{{1,7}}){{0,3}}{RIGHT}",
        rf"{LEFT}(?:err|error|fault|warning|status|http)_[A-Z_]{{0,24}}[0-9]{{1,6}}{RIGHT}",
        rf"{LEFT}(?:{_PLAN}) ?[0-9]{{1,8}}(?:[.-][0-9a-z]{{1,8}}){{0,5}}{RIGHT}",
        rf"{_OPEN}{_YEAR}(?: ?[-/] ?(?:{_YEAR}|[0-9]{{2}})|(?:,? {_YEAR}){{1,12}}){_STOP}",
        rf"{_OPEN}{_GROUPED}{_STOP}",
        rf"{LEFT}[0-9]{{1,4}}-[a-z]{{2,20}}(?:-[a-z]{{2,20}})?{RIGHT}",
        rf"{LEFT}[a-z]{{3,20}}-[0-9]{{1,2}}{RIGHT}",
    )
)
# A telephone number may look like these: no reason to keep it where a word says that one follows.
_LIKELY: Final = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"{_OPEN}(?:19|20)[0-9]{{2}}(?:0[1-9]|1[0-2])(?:0[1-9]|[12][0-9]|3[01])(?:[T_-]?[0-9]{{6}}Z?)?{_STOP}",
        rf"{_OPEN}(?:0|[1-9][0-9]{{0,2}})(?:\.[0-9]{{1,3}}){{1,3}}{_STOP}",
        rf"{_OPEN}[1-9][0-9]{{0,2}}(?:[.'][0-9]{{3}}){{1,5}}(?:,[0-9]{{1,4}})?{_STOP}",
        rf"{_OPEN}[0-9]{{1,6}},[0-9]{{1,8}}{_STOP}",
        rf"{_OPEN}[1-9][0-9]{{3,5}}\.[0-9]{{1,5}}{_STOP}",
        rf"{_OPEN}-?(?:[0-9]{{1,3}}\.[0-9]{{3,8}}|0\.[0-9]{{1,18}}){_STOP}",
        rf"{_OPEN}(?:0|[1-9][0-9]?)(?:\.[0-9]{{1,2}}){{1,2}}\.[0-9]{{4,8}}{_STOP}",
    )
)
_SAID = r"[^\n\x00\x01\d;|]{0,24}"
_TO = (
    r"(?:[ :-]{1,2}(?:me|us|back|him|her|them|at|on|by|under|unter|au|al|mich|uns|an|le|la|moi|nous"
    r"|number|nummer|numero)\b\.?){0,4}"
)
_TELEPHONE = (
    r"(?:(?:tele|cell ?|smart)?phone|tel|mobile|movil|cell|fax|whatsapp|handy|portable|durchwahl|hotline|sms"
    r"|telefon\w{0,9}|mobil\w{0,9})"
)
_REACH = (
    r"(?:call|calling|text|ring|reach|reached|dial|contact|ruf|rufen|anrufen|erreich\w{0,5}|appel\w{0,4}|joign\w{0,5}"
    r"|joindre|rappel\w{0,4}|llam\w{0,6}|marque|bel)"
)
_SAYS_PHONE: Final = re.compile(rf"{LEFT}(?:{_TELEPHONE}\b{_SAID}|{_REACH}{_TO}[ :]{{0,3}})\Z", re.IGNORECASE)
BEFORE: Final = 40


def stays(text: str) -> str:
    """A folded text with what is nobody's overwritten, so that no finder takes it or looks past it."""
    for pattern in _SURELY:
        text = pattern.sub(_kept, text)
    for pattern in _LIKELY:
        text = pattern.sub(_kept_unless_phone, text)
    return text


def says_phone(text: str, start: int) -> bool:
    """Whether what stands shortly before says that a telephone number follows."""
    return bool(_SAYS_PHONE.search(text[max(0, start - BEFORE) : start]))


def _kept(found: re.Match[str]) -> str:
    return KEPT * len(found[0])


def _kept_unless_phone(found: re.Match[str]) -> str:
    return found[0] if says_phone(found.string, found.start()) else _kept(found)
