"""Which tools a sentence tells an agent to use, as tools are written: lower-case words joined by underscores."""

import re
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Tools:
    """What an agent may call, and which other names are known to be tools."""

    allowed: frozenset[str]
    known: frozenset[str] = frozenset()


_NAME: Final = r"[a-z][a-z0-9]{0,30}(?:_[a-z0-9]{1,30}){1,6}"
_NAMED: Final = re.compile(rf"(?<![\w./-])(?P<name>{_NAME})(?![\w/-])(?P<call>\s?\()?")
_USED: Final = re.compile(
    r"\b(?:use|using|call|calling|run|running|invoke|invoking|execute|via|with|tool|rufe|nutze|verwende)"
    r"(?:\s(?:the|a|das|die|den|tool|function|werkzeug)){0,2}\s?[`\"'\[]{0,2}\Z",
    re.IGNORECASE,
)
_IS_TOOL: Final = re.compile(r"[`\"'\]]{0,2}\s(?:tool|function)\b", re.IGNORECASE)
_NEAR: Final = 40


def forbidden_tools(sentence: str, tools: Tools) -> tuple[str, ...]:
    """The tools named that are not on the allow-list. A name that nobody says to use is taken for a field."""
    found = []
    for each in _NAMED.finditer(sentence):
        name = each["name"]
        is_used = bool(
            each["call"]
            or _USED.search(sentence[max(each.start() - _NEAR, 0) : each.start()])
            or _IS_TOOL.match(sentence, each.end("name"))
        )
        if name not in tools.allowed and (name in tools.known or is_used):
            found.append(name)
    return tuple(dict.fromkeys(found))
