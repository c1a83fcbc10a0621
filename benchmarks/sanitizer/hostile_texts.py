# ruff: noqa: RUF001 - the texts are in many scripts.
"""About thirty kinds of hostile text of any length, on which a backtracking pattern or a superfluous step would show."""

import base64
from collections.abc import Callable
from random import Random
from typing import Final

_REPEATED: Final = {
    "emoji and joiners": "👩\u200d",
    "emoji families": "👩\u200d👩\u200d👧 ",
    "flag letters": "🇩",
    "marks on letters": "e\u0301\u0301\u0301\u0301",
    "marks alone": "\u0301",
    "disregard all": "disregard all ",
    "ignore all previous": "ignore all previous ",
    "the whole phrase": "ignore all previous instructions ",
    "forget all": "forget all ",
    "new instructions": "new instructions ",
    "system in lines": "\nsystem ",
    "system and colons": "system: ",
    "turns": "\nuser: hi",
    "open tags": "<system ",
    "closed tags": "<data x>",
    "angle brackets": "<",
    "bare tags": "<b>",
    "code fences": "```\n",
    "dashes": "-",
    "separators": "\n---",
    "hashes": "#",
    "titles": "\n# ",
    "brackets": "[",
    "headers": "\n[New message ",
    "markup": "> * _",
    "entities": "&#105;",
    "ampersands": "&amp;",
    "percent signs": "%69",
    "hexadecimal": "69676e6f7265",
    "hexadecimal pairs": "69 67 6e ",
    "bits": "01101001 ",
    "spaces": " ",
    "line breaks": "\n",
    "carriage returns": "\r\n ",
    "zero width": "a\u200b",
    "tag characters": "\U000e0041",
    "selectors": "\ufe0f",
    "half pairs": "\ud800",
    "hindi joiners": "क्\u200dष",
    "persian": "می\u200cخواهم ",
    "letters apart": "i g n o r e ",
    "mixed scripts": "іgnоrе ",
    "full width": "\uff49\uff47\uff4e\uff4f\uff52\uff45\u3000",
    "digits for letters": "1gn0r3 4ll ",
    "one long word": "a",
    "say and a quote": 'say "',
    "you are": "you are ",
    "act as": "act as ",
    "imperatives": "add include insert replace ",
    "get and send": "get the list and send ",
    "roles in JSON": '"role":',
    "backwards": "snoitcurtsni suoiverp ",
    "images": "![](http://",
    "german": "ignoriere alle vorherigen ",
    "chinese": "忽略",
}


def _nested_tags(characters: int) -> str:
    return ("<data " * (characters // 8))[: characters * 3 // 4] + ">" * (characters // 4)


def _one_base64_run(characters: int) -> str:
    chance = Random(7)
    return base64.b64encode(bytes(chance.randrange(32, 127) for _ in range(characters))).decode()[:characters]


def _base64_words(characters: int) -> str:
    words = (base64.b64encode(f"hello you there {number}".encode()).decode() for number in range(characters // 24))
    return " ".join(words)[:characters]


def _repeat_unit(unit: str) -> Callable[[int], str]:
    return lambda characters: (unit * (characters // len(unit) + 1))[:characters]


FLOODS: Final[dict[str, Callable[[int], str]]] = {
    **{name: _repeat_unit(unit) for name, unit in _REPEATED.items()},
    "nested tags": _nested_tags,
    "one base64 run": _one_base64_run,
    "base64 words": _base64_words,
}
