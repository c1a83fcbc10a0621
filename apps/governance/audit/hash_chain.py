"""What an audit chain has to be, computed anew: nothing here trusts the functions of the database that wrote it."""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

Values = Mapping[str, Any]
# To say where a moved row stood, each broken one is compared with each other; beyond this many they are called altered.
MOST_COMPARED = 200


class TamperKind(StrEnum):
    """What happened to a row."""

    REMOVED = "removed"
    REORDERED = "reordered"
    ALTERED = "altered"
    INSERTED = "inserted"


@dataclass(frozen=True, slots=True)
class ChainFinding:
    """One row that is not what it was, and what happened to it."""

    kind: TamperKind
    row: str
    detail: str


@dataclass(frozen=True, slots=True)
class ChainEntry:
    """A link with the entry it is about, and how the entry's words agree with it; an entry that is gone is None."""

    link: Values
    entry: Values | None
    text_is_sound: bool | None = None

    @property
    def name(self) -> str:
        """The entry's row in words."""
        return f"{_ENTRY_LABELS.get(self.link['entry_type'], self.link['entry_type'])} {self.link['entry_id']}"


@dataclass(slots=True)
class ChainVerification:
    """How far a chain was followed and what was wrong with it."""

    position: int = 0
    sha256: str = ""
    entry_count: int = 0
    findings: list[ChainFinding] = field(default_factory=list)


_ENTRY_LABELS = {"change": "change record", "refusal": "refusal"}


def row_sha256(values: Values) -> str:
    """The hash of a row: every column that is not null, by name, in the order of names, each part with its length."""
    parts = [
        part.encode()
        for name, value in sorted(values.items())
        if value is not None
        for part in (name, database_text(value))
    ]
    return hashlib.sha256(b"".join(b"%d:%s" % (len(part), part) for part in parts)).hexdigest()


def link_sha256(link: Values) -> str:
    """The hash a link has to carry: of all it says but the hash itself."""
    return row_sha256({name: value for name, value in link.items() if name != "sha256"})


def database_text(value: Any) -> str:
    """A column's value in the words of the database's own JSON."""
    if not isinstance(value, datetime):
        return str(value)
    moment = value.astimezone(UTC)
    fraction = f".{moment.microsecond:06}".rstrip("0") if moment.microsecond else ""
    return f"{moment:%Y-%m-%dT%H:%M:%S}{fraction}+00:00"


def verify_chain(chain: Iterable[ChainEntry], anchors: Mapping[int, Sequence[str]]) -> ChainVerification:
    """Follow a chain from its first link. `anchors` says which hashes stood at a position when somebody looked before."""
    result = ChainVerification()
    broken_links: list[ChainEntry] = []
    broken_entries: list[ChainEntry] = []
    fits = frozenset({""})
    for each in chain:
        result.findings += _check_order(each, result.position, fits)
        if link_sha256(each.link) != each.link["sha256"]:
            broken_links.append(each)
        result.findings += _check_anchors(each.link, anchors)
        if each.entry is None:
            result.findings.append(
                ChainFinding(TamperKind.REMOVED, each.name, f"Link {each.link['position']} is about it.")
            )
        elif row_sha256(each.entry) != each.link["entry_sha256"]:
            broken_entries.append(each)
        result.findings += _check_texts(each)
        result.entry_count += 1
        result.position, result.sha256 = each.link["position"], each.link["sha256"]
        fits = frozenset({each.link["sha256"], link_sha256(each.link)})
    result.findings += [
        *_broken_link_findings(broken_links),
        *_broken_entry_findings(broken_entries),
        *_check_chain_length(result, anchors),
    ]
    return result


def _check_order(each: ChainEntry, before: int, fits: frozenset[str]) -> Iterator[ChainFinding]:
    position = each.link["position"]
    if position > before + 1:
        yield ChainFinding(
            TamperKind.REMOVED, _link_range(before + 1, position - 1), f"The chain goes on at link {position}."
        )
    elif position <= before:
        yield ChainFinding(TamperKind.INSERTED, f"link {position}", "There is another one at this position.")
    elif each.link["previous_sha256"] not in fits:
        yield ChainFinding(TamperKind.REORDERED, f"link {position}", f"It does not go on from link {before}.")


def _check_texts(each: ChainEntry) -> Iterator[ChainFinding]:
    """The words of a change are part of it: nothing in the product takes them away yet, so nobody lawfully has."""
    if each.text_is_sound is False:
        yield ChainFinding(TamperKind.ALTERED, f"words of {each.name}", "The record's hash is another.")
    elif each.text_is_sound is None and each.entry is not None and "text_sha256" in each.entry:
        subject = f"{each.entry['act']} on {each.entry['subject_type']} {each.entry['subject_id']}"
        yield ChainFinding(TamperKind.REMOVED, f"words of {each.name}", f"The record ({subject}) has a hash of them.")


def _link_range(first: int, last: int) -> str:
    return f"link {first}" if first == last else f"links {first} to {last}"


def _check_anchors(link: Values, anchors: Mapping[int, Sequence[str]]) -> Iterator[ChainFinding]:
    position = link["position"]
    if any(known != link["sha256"] for known in anchors.get(position, ())):
        yield ChainFinding(
            TamperKind.ALTERED, f"link {position}", "It has another hash than when its anchor was written."
        )


def _check_chain_length(result: ChainVerification, anchors: Mapping[int, Sequence[str]]) -> Iterator[ChainFinding]:
    last = max(anchors, default=0)
    if last > result.position:
        where = _link_range(result.position + 1, last)
        yield ChainFinding(
            TamperKind.REMOVED, where, f"An anchor says that the chain reached link {last}; it ends before."
        )


def _broken_link_findings(broken: Sequence[ChainEntry]) -> Iterator[ChainFinding]:
    positions = [each.link["position"] for each in broken[:MOST_COMPARED]]
    for each in broken:
        link = each.link
        stood = next((at for at in positions if link_sha256({**link, "position": at}) == link["sha256"]), None)
        if stood is None:
            yield ChainFinding(TamperKind.ALTERED, f"link {link['position']}", "Its hash is not that of what it says.")
        else:
            yield ChainFinding(TamperKind.REORDERED, f"link {link['position']}", f"It was link {stood}.")


def _broken_entry_findings(broken: Sequence[ChainEntry]) -> Iterator[ChainFinding]:
    compared = broken[:MOST_COMPARED]
    for each in broken:
        stood = next((other.link["entry_id"] for other in compared if _is_moved_entry(each, other)), None)
        if stood is None:
            yield ChainFinding(TamperKind.ALTERED, each.name, f"Link {each.link['position']} has another hash of it.")
        else:
            yield ChainFinding(
                TamperKind.REORDERED, each.name, f"It was {replace(each, link={**each.link, 'entry_id': stood}).name}."
            )


def _is_moved_entry(each: ChainEntry, other: ChainEntry) -> bool:
    then = {**(each.entry or {}), "id": other.link["entry_id"]}
    return row_sha256(then) == str(other.link["entry_sha256"])
