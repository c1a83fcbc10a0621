"""What is worth learning from, and what a draft must look like; pure."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from apps.conversations.rules import Line

MIN_MESSAGES = 4
SECTIONS = ("When to Use", "Procedure", "Pitfalls", "Verification")

# Bounded on purpose: a customer chooses the text these run over.
_EMAIL = re.compile(r"[A-Za-z0-9._%+-]{1,64}@[A-Za-z0-9.-]{1,190}\.[A-Za-z]{2,24}")
_PHONE = re.compile(r"\+?\d(?:[ ()./-]{0,3}\d){7,15}")
_CODE = re.compile(r"\b(?=[A-Za-z_-]{0,40}\d)[A-Za-z0-9_-]{5,41}\b")


@dataclass(frozen=True, slots=True)
class Accepted:
    """The conversation goes to the model."""


@dataclass(frozen=True, slots=True)
class Refused:
    """The conversation teaches nothing; `verdict` is counted, `reason` is read by people."""

    verdict: str
    reason: str


def gate(lines: Sequence[Line], outcome: str, *, off_the_record: bool) -> Accepted | Refused:
    """Refuse without a model call what can or may teach nothing (R110, R113, R178)."""
    if off_the_record:
        return Refused("off-record", "The conversation is off the record; nothing is learned from it.")
    if len(lines) < MIN_MESSAGES:
        return Refused("too-short", f"{len(lines)} messages; at least {MIN_MESSAGES} are needed.")
    if not any(line.tool_calls for line in lines):
        return Refused("trivial", "The agent answered without a tool; there is no procedure to keep.")
    if outcome == "unsolved":
        return Refused("negative", "The conversation did not end well for the customer.")
    return Accepted()


@dataclass(frozen=True, slots=True)
class Vetted:
    """A draft's texts, generalised."""

    name: str
    title: str
    description: str
    body: str


def vet(name: str, title: str, description: str, body: str, *, spoken: Iterable[str]) -> Vetted | Refused:
    """Take out what identifies anybody, and refuse a body without the sections of a runbook (R104, R115)."""
    private = identifiers(spoken)
    texts = [generalised(text, private) for text in (title, description, body)]
    missing = [section for section in SECTIONS if f"## {section}".lower() not in texts[2].lower()]
    if missing:
        return Refused("refused", f"The draft lacks the sections {', '.join(missing)}.")
    if generalised(name, private) != name:
        return Refused("refused", "The draft's name holds an identifier from the conversation.")
    return Vetted(name, *texts)


def identifiers(spoken: Iterable[str]) -> frozenset[str]:
    """Codes with digits in them that were said in the conversation: order numbers, user ids, flight numbers."""
    return frozenset(code.lower() for text in spoken for code in _CODE.findall(text))


def generalised(text: str, private: frozenset[str]) -> str:
    """The text without e-mail addresses, telephone numbers and the conversation's own codes."""
    text = _EMAIL.sub("[e-mail]", text)
    text = _CODE.sub(lambda found: found.group() if private.isdisjoint(_runs(found.group())) else "[id]", text)
    return _PHONE.sub("[number]", text)


def _runs(code: str) -> Iterator[str]:
    """The code and every run of its parts: refund-w4711 holds w4711."""
    joints = [place for place, character in enumerate(code) if character in "-_"]
    for start in (0, *(place + 1 for place in joints)):
        for end in (*joints, len(code)):
            if end > start:
                yield code[start:end].lower()
