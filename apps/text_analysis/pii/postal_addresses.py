"""Finds postal addresses in their English, German, French and Spanish forms."""

import re
from collections.abc import Iterator
from typing import Final

from apps.text_analysis.pii.text_folding import WORD_END, WORD_START

ADDRESS: Final = "address"


def _any_of(words: str) -> str:
    return f"(?:{'|'.join(words.split())})"


# Every repetition is bounded, because a customer chooses the text.
_LETTER = r"[^\W\d_]"
_WORD = rf"{_LETTER}[^\W\d_'.-]{{0,24}}(?:['.-]{_LETTER}{{1,24}}){{0,2}}+\.?"
_UPPER = rf"(?-i:[^\W\d_a-z]{_LETTER}{{0,24}})"
_CAPITAL = rf"(?:(?-i:[^\W\d_a-z][^\W\d_'.-]{{0,24}}(?:['.-]{_LETTER}{{1,24}}){{0,2}})|[0-9]{{1,3}}(?:st|nd|rd|th))\.?"
_STREET_NUMBER = r"[0-9]{1,5}(?: ?[A-Za-z](?![A-Za-z]))?(?: ?[-/] ?[0-9]{1,4}[A-Za-z]?)?"

_NAME_PARTICLE = _any_of("am an der de del la las le les los sur sous en of on upon in im the")
_CITY = rf"{_UPPER}(?:(?:[' .-]|\. |[ -]{_NAME_PARTICLE}(?:[ -](?:der|la|the))?[ -]){_UPPER}){{0,3}}"
_STATES = (
    "A[LKZR] C[AOT] D[EC] FL GA HI I[DLNA] K[SY] LA M[EDAINSOT] N[EVHJMYCD] O[HKR] PA RI S[CD] T[NX] UT V[TA] W[AVIY]"
)
_STATE = rf"(?-i:{_any_of(_STATES)})"
_ZIP = r"[0-9]{5}(?:-[0-9]{4})?"
_UK_POSTCODE = r"(?-i:[A-Z]{1,2}[0-9][0-9A-Z]? ?[0-9][A-Z]{2})"
_POSTCODE = r"(?-i:[A-Z]{1,2}-)?[0-9]{4,5}"
_FLAT = _any_of("apartment apt suite ste unit flat floor room app appt wohnung whg etage piso puerta planta bat esc")
_FLAT_NUMBER = (
    rf"(?:,? {{0,2}}(?:{_FLAT}\.? ?#?[0-9A-Z]{{1,5}}(?![A-Za-z])|#[0-9]{{1,5}}"
    r"|[0-9]{1,2}[o\u00ba\u00aa]\.? ?[A-Z]?(?![A-Za-z])))"
)
_ADDRESS_END = (
    rf"(?:{_FLAT_NUMBER}{{0,2}}(?:(?:,? {{0,2}}|\n)"
    rf"(?:(?:{_CITY},? )?(?:{_STATE},? {_ZIP}|{_UK_POSTCODE})|{_POSTCODE} {_CITY}))?)"
)
_TOWN = rf"(?:, {{0,2}}{_CITY}(?:, {_STATE})?)?"

_STREETS = _any_of(
    "street str? road rd avenue ave lane ln boulevard blvd terrace crescent highway hwy parkway pkwy mews gardens alley"
)
# Words with other meanings too; they count as streets only if every word before them is capitalised.
_AMBIGUOUS_STREETS = _any_of(
    "Drive Dr Court Ct Way Place Pl Square Sq Close Circle Cir Grove Row Trail Walk Hill Park View Loop"
)
_NOT_A_NAME = (
    "in on at to of the a an from down up off and or is are was for by with your my our their this that per more bis ter"
    " quater minutes? hours? days? weeks? months? years? miles? met(?:er|re)s? km people items? times? steps? ways? factor"
    " press click tap select choose percent"
)
_NAME = rf"(?!{_any_of(_NOT_A_NAME)}\b)"
_COMPASS = r"(?:(?:north|south|east|west|[nsew])\.? )?"
_PO_BOX = r"(?:p\.? ?o\.? ?box|postfach|boite postale|b\.?p\.?|apartado(?: de correos)?|apdo\.?)"

_ENGLISH = (
    # 742 Evergreen Terrace, Springfield, IL 62704
    (
        rf"{WORD_START}(?:{_FLAT}\.? ?[0-9A-Z]{{1,4}},? )?{_STREET_NUMBER},? {_COMPASS}"
        rf"(?:{_NAME}{_WORD} |[0-9]{{1,3}}(?:st|nd|rd|th) ){{1,3}}{_STREETS}\b\.?{_ADDRESS_END}{_TOWN}"
    ),
    rf"{WORD_START}{_STREET_NUMBER} (?:{_NAME}{_CAPITAL} ){{1,3}}(?-i:{_AMBIGUOUS_STREETS})\b\.?{_ADDRESS_END}{_TOWN}",
    rf"{WORD_START}{_STREET_NUMBER} (?-i:Broadway|Piccadilly|Strand|Whitehall){WORD_END}{_ADDRESS_END}{_TOWN}",
    rf"{WORD_START}{_PO_BOX} ?(?:no\.? ?|# ?)?[0-9]{{2,7}}{WORD_END}{_ADDRESS_END}",
    rf"{WORD_START}{_CITY}, {_STATE},? {_ZIP}{WORD_END}",
    rf"{WORD_START}{_UK_POSTCODE}{WORD_END}",
)

# A folded text has no umlauts.
_NOT_A_STREET = _any_of("Sitz Park Arbeits Bahn Haupt Flug Steh Lager Stell Um Ruck Aus Hin An Ab Speicher")
_GERMAN = (
    # Karl-Marx-Allee 93, 10243 Berlin
    (
        rf"{WORD_START}(?:{_UPPER}\.?[ -]){{0,4}}{_LETTER}{{0,25}}"
        rf"(?:stra(?:ss|\u00df)e|str\.|allee|gasse|chaussee|damm|ufer) {_STREET_NUMBER}{WORD_END}{_ADDRESS_END}"
    ),
    (
        rf"{WORD_START}(?-i:(?!{_NOT_A_STREET})[A-Z]{_LETTER}{{2,24}}"
        rf"{_any_of('weg platz ring steig hof markt winkel graben bogen berg')})"
        rf" {_STREET_NUMBER}{WORD_END}(?! ?(?:Minuten|Stunden|Uhr|km)){_ADDRESS_END}"
    ),
    (
        rf"{WORD_START}(?-i:Am|An der|An den|Im|In der|Auf de[rm]|Unter de[nr]|Zum|Zur|Alte[rs]?|Neue[rs]?)"
        rf" {_UPPER} {_STREET_NUMBER}, {_POSTCODE} {_CITY}"
    ),
)

# For any street name: Carrer de Mallorca 401, 08013 Barcelona
_ANY_STREET = (
    rf"{WORD_START}{_CITY}(?: [0-9]{{1,2}}\. {_UPPER})? {_STREET_NUMBER}, (?-i:[A-Z]{{1,2}}-)?[0-9]{{5}} {_CITY}"
)

_NUMBER_SUFFIX = r"(?: ?(?:bis|ter|quater))?,? "
_FRENCH_ARTICLE = r"(?: (?:de|du|des|la|le|les|l'|d')){0,2} ?"
_FRENCH = (
    # 12 bis rue de la Paix, 75002 Paris
    (
        rf"{WORD_START}{_STREET_NUMBER}{_NUMBER_SUFFIX}"
        rf"(?:av\.|bd\.?|{_any_of('rue avenue boulevard chemin allee impasse quai faubourg sentier')})"
        rf"(?: {_WORD}){{1,6}}?(?=[,;.\n)]|$|\s[0-9]| -| et | ou | a | est ){_ADDRESS_END}"
    ),
    (
        rf"{WORD_START}{_STREET_NUMBER}{_NUMBER_SUFFIX}{_any_of('place route cours square passage voie villa cite')}"
        rf"{_FRENCH_ARTICLE}{_CAPITAL}(?:[ -](?:(?:de|du|des|la|le|les) ){{0,2}}{_CAPITAL}){{0,3}}{_ADDRESS_END}"
    ),
)

_NO_CALLE = rf"(?!{_any_of('es esta tiene hay que y con sin donde')}\b)"
_SPANISH = (
    # Calle Mayor 15, 28013 Madrid
    (
        rf"{WORD_START}(?:c/|pza\.?|ctra\.?|avda\.?"
        rf"|{_any_of('calle avenida plaza paseo camino carretera ronda travesia rambla via')})"
        rf" ?(?:(?:de|del|la|las|los|el) ){{0,2}}(?:{_NO_CALLE}{_WORD} ?){{1,5}}?,? "
        rf"(?:n[.\u00b0\u00bao]{{0,2}} ?|num\.? ?|numero )?(?:{_STREET_NUMBER}|s/n){WORD_END}{_ADDRESS_END}"
    ),
)

_POSTCODE_LABEL = r"(?:plz|postleitzahl|post ?code|zip(?: ?code)?|code postal|codigo postal|c\.?p\.?)"
_LABELLED_POSTCODE = (
    rf"{WORD_START}{_POSTCODE_LABEL}[ :.]{{1,3}}(?:is |ist |est |es )?"
    rf"(?P<part>{_POSTCODE}(?:-[0-9]{{3,4}})?(?: {_CITY})?){WORD_END}"
)

_PATTERNS: Final = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (*_ENGLISH, *_GERMAN, *_FRENCH, *_SPANISH, _ANY_STREET, _LABELLED_POSTCODE)
)


def addresses_in(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield streets with numbers, post boxes and postcodes, each with the town that follows it."""
    for pattern in _PATTERNS:
        for found in pattern.finditer(text):
            yield *found.span("part" if pattern.groupindex else 0), ADDRESS
