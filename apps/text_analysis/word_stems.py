"""Normalises words for the comparison of statements: stop words, synonyms and opposites.

The word lists cover English, and the German words that instructions use. Words are compared by their Snowball stems.
"""

import re
import unicodedata
from functools import lru_cache
from threading import Lock
from typing import Final

from Stemmer import Stemmer

WORD: Final = re.compile(r"[^\W\d_]+(?:['\u2019-][^\W\d_]+){0,3}")
_LONGEST_WORD: Final = 60

_STOP_WORD_LINES: Final = """
a about above actually additionally again ahead all also am an and any anybody anyone anything are as at be because
been being both but by can could did do does doing done each either else even ever every everybody everyone everything
first finally for from during per further get gets getting go goes going got had has have having he her here him his
how however i if in into is it its just kindly later least less longer lets like likely long made make makes making
many may me might more most much must my near need needs needed next nicely no not now of off often ok on once one
ones only onto or other others our ours out over own please politely quite rather really same shall she should simply
since so some somebody someone something soon still such sure than that the their theirs them themselves then there
these they thing things this those though through thus to together too until up upon us use uses using usual usually
very via want wants was we well were what whatever when whenever where whether which while who whoever whom whose why
will with within without would yet you your yours always never everywhere anyway already example instance case general
note important hint attention reminder tip hinweis achtung beispiel fall customer customers client clients user users
caller callers people person agent agents aber alle allem allen aller alles als andere auch auf aus bei beim bevor bis
bitte da damit dann das dass dein dem den denn der des deshalb die dies diese diesem diesen dieser dieses doch du
durch ein eine einem einen einer eines er es etwa euch fur gegen haben hat hier ich ihm ihn ihnen ihr ihre ihrem ihren
ihrer im immer ins ist ja je jede jedem jeden jeder jedes kann konnen man mehr mit muss mussen nach nie niemals nicht
noch nun nur ob oder ohne sehr sein sich sie sind sobald soll sollen sollte sowie uber um und uns unser unsere unter
vom von vor war weil wenn wer werden wie wieder wir wird wo zu zum zur darf durfen falls kunde kunden kundin kundinnen
"""

# Next to an amount, these words do not show what is measured.
_AMOUNT_STOP_WORDS: Final = """
allow allowed available accept amount apply ask back begin can change choose claim come date day days deadline
end enter entitle expect expire fixed free full get give grant have hold honor keep last limit lie maximum minimum offer
open possible period policy process provide receive request run set stand start stay take tell time total valid wait
window reply make mean count currently now today new still arrive need require worth say
angebot betragt dauert dauern erhalten frist geben gelten gilt moglich gewahren
"""

# Each line is one group of synonyms.
_SYNONYM_LINES: Final = """
refund reimburse reimbursement moneyback repay
delivery shipping shipment ship deliver dispatch
parcel package
give offer grant provide issue hand award
promise guarantee assure pledge commit
tell inform notify advise mention say state
share disclose reveal
ask request demand
check verify confirm validate
escalate handover
cancel terminate
purchase buy
email mail
price cost
discount rebate
phone telephone
accept take
allow permit
opening open
voucher coupon giftcard
employee colleague staff
cheque check-payment
product item article goods
buyer shopper
"""

# Each key means the opposite of its value.
_OPPOSITES: Final = {
    "closed": "open",
    "shut": "open",
    "refuse": "accept",
    "reject": "accept",
    "decline": "accept",
    "deny": "accept",
    "impossible": "possible",
    "unavailable": "available",
    "exclude": "include",
    "excluded": "include",
    "disable": "enable",
    "disabled": "enable",
    "withhold": "give",
    "geschlossen": "offen",
    "unmoglich": "moglich",
}

# A stemmer must not be used in several threads at once; `word_key` caches its results.
_ENGLISH: Final = Stemmer("english", maxCacheSize=0)
_GERMAN: Final = Stemmer("german", maxCacheSize=0)
_STEMMER_LOCK: Final = Lock()


def normalize_word(word: str) -> str:
    """Return a word in lower case without diacritics, as spelled in the word lists."""
    if word.isascii():
        return word.lower()
    known = unicodedata.normalize("NFKD", word.casefold().replace("\u2019", "'"))
    return "".join(letter for letter in known if not unicodedata.combining(letter))


def stem(word: str) -> str:
    """Return the stem of a plain word: refunded and refunds have the same stem, as do Gutscheine and Gutscheins."""
    known = word.replace("-", "").removesuffix("'s").replace("'", "")[:_LONGEST_WORD]
    with _STEMMER_LOCK:
        stemmed: str = _GERMAN.stemWord(_ENGLISH.stemWord(known))
    return stemmed


_STOP_WORDS: Final = frozenset(_STOP_WORD_LINES.split())
_SYNONYM_STEMS: Final = {
    stem(word): stem(line.split()[0]) for line in _SYNONYM_LINES.strip().splitlines() for word in line.split()
}
_OPPOSITE_STEMS: Final = {stem(word): stem(other) for word, other in _OPPOSITES.items()}


@lru_cache(maxsize=20_000)
def word_key(word: str) -> str:
    """Return the comparison key of a word; empty for a stop word."""
    known = normalize_word(word).removesuffix("'s")
    if known in _STOP_WORDS or len(known) < 2:
        return ""
    stemmed = stem(known)
    stemmed = _OPPOSITE_STEMS.get(stemmed, stemmed)
    return _SYNONYM_STEMS.get(stemmed, stemmed)


def is_opposite(word: str) -> bool:
    """Return whether a word means the opposite of the word whose key it has."""
    return stem(normalize_word(word)) in _OPPOSITE_STEMS


AMOUNT_STOP_KEYS: Final = frozenset(word_key(word) for word in _AMOUNT_STOP_WORDS.split())


def word_keys(text: str) -> list[str]:
    """Return the keys of a text's meaningful words, in order."""
    return [each for word in WORD.findall(text) if (each := word_key(word))]
