"""What is worth learning from, and what a draft must look like; pure."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from functools import reduce
from operator import or_
from typing import Any
from zoneinfo import ZoneInfo

from apps.conversations.rules import Line, ToolCall
from apps.prompt.tool_names import KEEPING, OF_ITSELF, RECALLING
from apps.texts.days import all_dated
from apps.texts.introducing import introduced_in
from apps.texts.known import Known, codes_in
from apps.texts.private import KINDS, Firewall
from apps.texts.telling import known_from
from apps.texts.templates import Template

MIN_MESSAGES = 4
# Whose words a line of a transcript is that a customer wrote.
CUSTOMER = "customer"
# How long a conversation waits for its next look after the model failed over it, and after how many failures it waits no more.
FIRST_WAIT_SECONDS = 60.0
LONGEST_WAIT_SECONDS = 3600.0
MOST_FAILURES = 30
# When an agent reflects on its day, by the tenant's clock (R119).
REFLECTS_AT = timedelta(hours=23)
# What one reflection reads and writes at most, and how many conversations have to show the same.
CONVERSATIONS_READ = 20
LINES_READ = 60
SHOWN_BY = 2
MEMORY_CHARACTERS = 300
SECTIONS = ("When to Use", "Procedure", "Pitfalls", "Verification")


def next_look_seconds(failures: int, asked_seconds: float | None, jitter: float) -> float:
    """Seconds until the next look after so many failures: doubling from a minute to an hour, less up to a half by `jitter`.

    Never sooner than the endpoint asks for, up to that hour.
    """
    ours = min(LONGEST_WAIT_SECONDS, FIRST_WAIT_SECONDS * 2.0 ** min(max(failures, 1) - 1, 10))
    asked = asked_seconds if asked_seconds is not None and asked_seconds > 0 else 0.0
    return max(ours * (1 - jitter / 2), min(asked, LONGEST_WAIT_SECONDS))


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
    if all(call.name in OF_ITSELF for line in without_recalled(lines) for call in line.tool_calls):
        said = "The agent answered without a tool but those by which it reads and keeps what it knows; that is no procedure."
        return Refused("trivial", said)
    if outcome == "unsolved":
        return Refused("unsolved", "The conversation did not end well for the customer.")
    return Accepted()


def without_recalled(lines: Iterable[Line]) -> list[Line]:
    """What was said and done, without what the agent read of its skills, memory and notes; of what it wrote there, that it did.

    Learned from, it would come back as new: an agent would confirm itself (R110).
    """

    def told(call: ToolCall) -> ToolCall:
        return replace(call, arguments=dict.fromkeys(call.arguments, ""), result="") if call.name in KEEPING else call

    return [
        replace(line, tool_calls=tuple(told(call) for call in line.tool_calls if call.name not in RECALLING))
        for line in lines
    ]


@dataclass(frozen=True, slots=True)
class Vetted:
    """A draft's texts, generalised."""

    name: str
    title: str
    description: str
    body: str


def vet(
    name: str, title: str, description: str, body: str, *, known: Known, templates: Iterable[Template] = ()
) -> Vetted | Refused:
    """Take out what identifies anybody, and refuse a body without the sections of a runbook (R104, R115)."""
    firewall = Firewall.against(known, templates=templates)
    texts = [firewall.mask(text).text for text in (title, description, body)]
    missing = [section for section in SECTIONS if f"## {section}".lower() not in texts[2].lower()]
    if missing:
        return Refused("refused", f"The draft lacks the sections {', '.join(missing)}.")
    if firewall.mask(name).findings:
        return Refused("refused", "The draft's name holds an identifier from the conversation.")
    return Vetted(name, *texts)


def vet_memory(text: str, firewall: Firewall) -> str | Refused:
    """A line to remember of the business; what is somebody's, or true of one day only, is refused (R086, R115)."""
    shown = firewall.mask(text).text
    if len(text) > MEMORY_CHARACTERS:
        return Refused(
            "refused",
            f"“{shown[:60]}...” has {len(text)} characters; a line of memory has {MEMORY_CHARACTERS} at most.",
        )
    if shown != text or any(f"[{kind}]" in text for kind in KINDS):
        return Refused("refused", f"“{shown}” names something of one person; that is no memory of an agent.")
    _, found = all_dated((text,), None)
    if found.left:
        return Refused("refused", f"“{text}” is true of one day only ({', '.join(found.left)}).")
    return text


def by_date(draft: Vetted, day: date | None) -> tuple[Vetted, str]:
    """The draft with dates for the days that are certain, as seen from `day`, and what a reviewer is told of it (R115)."""
    (title, description, body), found = all_dated((draft.title, draft.description, draft.body), day)
    return Vetted(draft.name, title, description, body), found.sentences


def counted_in(texts: Iterable[str], firewall: Firewall) -> dict[str, int]:
    """How often what of each kind was masked: what a reviewer is told, without the values."""
    return dict(sorted(Counter(found.kind for text in texts for found in firewall.mask(text).findings).items()))


def known_of(lines: Sequence[Line], end_user_key: str) -> Known:
    """What is somebody's in a conversation: the customer's key, how they introduced themselves, codes that were said, what tools
    were told and answered.
    """
    calls = [call for line in lines for call in line.tool_calls]
    arguments = [str(value) for call in calls for value in call.arguments.values()]
    said = codes_in((*(line.text for line in lines), *arguments, *(call.result for call in calls)))
    told = [known_from(value) for call in calls for value in (call.arguments, _read(call.result))]
    told += [introduced_in(line.text) for line in lines if line.sender == CUSTOMER]
    return reduce(or_, told, Known(values=said) | known_from({"user_id": end_user_key}))


def day_to_reflect_on(now: datetime, zone: ZoneInfo) -> date:
    """The latest day that is over for reflection: from eleven in the evening on it is today (R119)."""
    here = now.astimezone(zone).replace(tzinfo=None)
    return (here - REFLECTS_AT).date()


def bounds_of(day: date, zone: ZoneInfo) -> tuple[datetime, datetime]:
    """From eleven in the evening to the same hour of the day itself, so that nothing lies between two days."""
    ends = datetime.combine(day, time(), zone) + REFLECTS_AT
    begins = datetime.combine(day - timedelta(days=1), time(), zone) + REFLECTS_AT
    return begins.astimezone(UTC), ends.astimezone(UTC)


def masked(lines: Iterable[Line], firewall: Firewall) -> list[Line]:
    """What was said and done, without what identifies somebody."""

    def hidden(value: Any) -> Any:  # Any: JSON
        match value:
            case str():
                return firewall.mask(value).text
            case Mapping():
                return {name: hidden(item) for name, item in value.items()}
            case list() | tuple():
                return [hidden(item) for item in value]
            case _:
                return value

    return [
        replace(
            line,
            text=hidden(line.text),
            tool_calls=tuple(
                replace(call, arguments=hidden(call.arguments), result=hidden(call.result)) for call in line.tool_calls
            ),
        )
        for line in lines
    ]


def _read(result: str) -> object:
    """Nothing where a tool answered in words."""
    try:
        return json.loads(result)
    except (ValueError, RecursionError):
        return None
