"""Removes the characters that a reader does not see, because they could carry text that nobody reviewed.

Unassigned code points that Unicode reserves as ignorable, and the viramas, are listed by range, so that a newer Unicode table
does not change the bytes of a prompt.
"""

import re
from typing import Final

_VISIBLE_RANGES: Final = (
    "\t\n\r -~\xa0-\xac\xae-\u034e\u0350-\u061b\u061d-\u115e\u1161-\u17b3\u17b6-\u180a\u1810-\u200a\u2010-\u2027"
    "\u202f-\u205f\u2070-\u3163\u3165-\ud7ff\ue000-\ufdff\ufe10-\ufefe\uff00-\uff9f\uffa1-\uffef\ufffc-\U0001342f"
    "\U00013460-\U0001bc9f\U0001bca4-\U0001d172\U0001d17b-\U000dffff\U000e1000-\U0010ffff"
)
# Matching the runs to keep is four times as fast as searching for the characters to remove.
_VISIBLE_RUN: Final = re.compile(f"[{_VISIBLE_RANGES}\u200c\u200d]++")
_HIDDEN_ASCII: Final = dict.fromkeys((*range(9), 11, 12, *range(14, 32), 127))
_LONE_SURROGATES: Final = re.compile("[\ud800-\udfff]")
# Characters that PostgreSQL refuses: NUL, and lone surrogates.
UNSTORABLE_CHARACTERS: Final = re.compile("[\x00\ud800-\udfff]")

_VIRAMAS: Final = (
    "\u094d\u09cd\u0a4d\u0acd\u0b4d\u0bcd\u0c4d\u0ccd\u0d3b\u0d3c\u0d4d\u0dca\u0e3a\u0eba\u0f84\u1039\u103a\u1714\u1715"
    "\u1734\u17d2\u1a60\u1b44\u1baa\u1bab\u1bf2\u1bf3\u2d7f\ua806\ua82c\ua8c4\ua953\ua9c0\uaaf6\uabed\U00010a3f"
    "\U00011046\U00011070\U0001107f\U000110b9\U00011133\U00011134\U000111c0\U00011235\U000112ea\U0001134d"
    "\U000113ce-\U000113d0\U00011442\U000114c2\U000115bf\U0001163f\U000116b6\U0001172b\U00011839\U0001193d\U0001193e"
    "\U000119e0\U00011a34\U00011a47\U00011a99\U00011c3f\U00011d44\U00011d45\U00011d97\U00011f41\U00011f42"
)
# Arabic to Mandaic, Arabic Extended, Indic to Sinhala, Tibetan, Myanmar, Khmer and Mongolian, Limbu, Tai Tham, Balinese to
# Lepcha, Syloti, Saurashtra, Rejang, Javanese to Meetei, Arabic forms, Kharoshthi, Manichaean, Pahlavi, Rohingya, Sogdian, Brahmi.
_JOINING_SCRIPTS: Final = (
    "\u0600-\u085f\u0860-\u0dff\u0f00-\u0fff\u1000-\u109f\u1780-\u18af\u1900-\u194f\u1a20-\u1aaf\u1b00-\u1c4f\ua800-\ua82f"
    "\ua880-\ua8ff\ua930-\ua95f\ua980-\ua9fe\uaae0-\uaaff\uabc0-\uabff\ufb50-\ufdff\ufe70-\ufefc\U00010a00-\U00010a5f"
    "\U00010ac0-\U00010aff\U00010b80-\U00010baf\U00010d00-\U00010d3f\U00010f30-\U00010f6f\U00011000-\U00011a4f\U00011c00-\U00011fff"
)
# Symbols of the Basic Multilingual Plane that join into emoji: arrows, figures and tools, hearts, squares.
_EMOJI: Final = "\u2190-\u21ff\u2600-\u26ff\u2708\u2763\u2764\u27a1\u2b1b\u2b1c\U0001f000-\U0001faff"
_NEEDLESS_CONTEXT: Final = rf"(?!(?<=[{_VIRAMAS}].))(?!(?<=[{_JOINING_SCRIPTS}].)(?=[{_JOINING_SCRIPTS}]))"
_NEEDLESS_NON_JOINER: Final = re.compile("\u200c" + _NEEDLESS_CONTEXT)
_NEEDLESS_JOINER: Final = re.compile("\u200d" + _NEEDLESS_CONTEXT + rf"(?!(?<=[{_EMOJI}].)(?=[{_EMOJI}]))")


def remove_invisible(text: str) -> str:
    """Remove control, direction, tag, variation and ignorable characters; a joiner stays where a word or an emoji needs it."""
    if text.isascii():
        return text.translate(_HIDDEN_ASCII)
    if not _VISIBLE_RUN.fullmatch(text):
        lines = text.replace("\u2028", "\n").replace("\u2029", "\n")
        text = "".join(_VISIBLE_RUN.findall(_replace_lone_surrogates(lines)))
    if "\u200c" in text:
        text = _NEEDLESS_NON_JOINER.sub("", text)
    return _NEEDLESS_JOINER.sub("", text) if "\u200d" in text else text


def _replace_lone_surrogates(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        return _LONE_SURROGATES.sub("\ufffd", text)
    return text
