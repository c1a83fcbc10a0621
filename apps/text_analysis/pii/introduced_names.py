"""Finds names with which people introduce themselves or sign a message; a found name counts as a known value from then on."""

import re
from collections.abc import Iterator
from typing import Final

from apps.text_analysis.pii.known_values import KnownValues

# Longer texts are not chat messages. People give their names at the beginning or the end.
READ_CHARACTERS: Final = 4_000
MAX_NAME_WORDS: Final = 3

_WORD: Final = r"[^\W\d_][\w'\u2019.-]{0,30}"
_WORDS: Final = rf"(?P<words>{_WORD}(?:[ \t]+{_WORD}){{0,{MAX_NAME_WORDS - 1}}})"
# After these phrases, one capitalised word is a name.
_NAME_INTRODUCTION: Final = re.compile(
    r"\b(?:my (?:full |first )?name is|my name['\u2019]s|ich heiße|ich heisse|mein name ist|me llamo|mi nombre es"
    rf"|je m['\u2019]appelle|mon nom est|mi chiamo|il mio nome è|me chamo|meu nome é)[ \t]+{_WORDS}",
    re.IGNORECASE,
)
# After these phrases, one word may be anything (I am German, this is Urgent), but two words are a name.
_SELF_INTRODUCTION: Final = re.compile(rf"\b(?:i am|i['\u2019]m|ich bin|je suis)[ \t]+{_WORDS}", re.IGNORECASE)
_OPENING_INTRODUCTION: Final = re.compile(
    rf"\A\W*(?:(?:hello|hi|hey|hallo|dear|good \w+|guten \w+)\b[\w ]{{0,20}}[,.!]*\s*)?"
    rf"(?:this is|hier ist|hier spricht)[ \t]+{_WORDS}",
    re.IGNORECASE,
)
_SIGNATURE: Final = re.compile(
    r"\b(?:regards|sincerely|yours|wishes|thanks|thank you|cheers|grüße|grüßen|grüssen|gruß|saludos|cordialement|saluti)"
    rf"[,.!]{{0,3}}[ \t]{{0,3}}[\n,]\s{{0,9}}{_WORDS}[.!]?\s*\Z",
    re.IGNORECASE,
)
_TITLES: Final = frozenset(
    ("mr", "mrs", "ms", "miss", "dr", "prof", "herr", "frau", "señor", "señora", "madame", "monsieur")
)
# Words capitalised for their position or by spelling rules, which are not names.
_NOT_A_NAME: Final = frozenset(
    re.findall(
        r"\w+",
        "i and but bye goodbye team support all everyone everybody sir madam please hello again you"
        " gold silver bronze platinum premium vip member not a an the so very still having trying looking writing"
        " monday tuesday wednesday thursday friday saturday sunday",
    )
)


def find_introduced_names(text: str) -> KnownValues:
    """Return the names that people give as their own. Text entirely in capitals or lower case does not mark names."""
    if text.isupper():
        return KnownValues()
    return KnownValues(names=frozenset(_find_names(text[:READ_CHARACTERS], text[-READ_CHARACTERS:])))


def _find_names(begin: str, end: str) -> Iterator[str]:
    for pattern, text, least in (
        (_NAME_INTRODUCTION, begin, 1),
        (_SELF_INTRODUCTION, begin, 2),
        (_OPENING_INTRODUCTION, begin, 2),
        (_SIGNATURE, end, 1),
    ):
        for found in pattern.finditer(text):
            words = list(_capitalised_words(found["words"]))
            if len(words) >= least:
                yield " ".join(words)


def _capitalised_words(text: str) -> Iterator[str]:
    """Yield the words up to the first one that is not part of a name. A preceding title is skipped; a full stop ends the name."""
    for word in text.split():
        bare = word.rstrip(".\u2019'-")
        plain = bare.casefold()
        if plain in _TITLES:
            continue
        if not bare[:1].isupper() or plain in _NOT_A_NAME:
            return
        yield bare
        if word.endswith(".") and len(bare) > 1:
            return
