"""Verification of the audit chain. Python recomputes every hash without the database functions that wrote it."""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

Values = Mapping[str, Any]
# Finding the former position of a moved row compares each broken row with every other. Broken rows beyond this number are
# reported as altered without a comparison.
MOST_COMPARED = 200


class TamperKind(StrEnum):
    """The kind of tampering that a finding reports."""

    REMOVED = "removed"
    REORDERED = "reordered"
    ALTERED = "altered"
    INSERTED = "inserted"


@dataclass(frozen=True, slots=True)
class ChainFinding:
    """One row that was tampered with, and how."""

    kind: TamperKind
    row: str
    detail: str


@dataclass(frozen=True, slots=True)
class ChainEntry:
    """A link of the chain and its entry (None if the entry is missing).

    `text_is_sound`: whether the text matches its hash; None without a text.
    """

    link: Values
    entry: Values | None
    text_is_sound: bool | None = None

    @property
    def name(self) -> str:
        """A readable name of the entry's row."""
        return f"{_ENTRY_LABELS.get(self.link['entry_type'], self.link['entry_type'])} {self.link['entry_id']}"


@dataclass(slots=True)
class ChainVerification:
    """The result of a verification: the last link, the number of entries, and the findings."""

    position: int = 0
    sha256: str = ""
    entry_count: int = 0
    findings: list[ChainFinding] = field(default_factory=list)


_ENTRY_LABELS = {"change": "change record", "refusal": "refusal"}


def row_sha256(values: Values) -> str:
    """Return the hash of a row: all columns that are not null, sorted by name; each name and value is preceded by its length."""
    parts = [
        part.encode()
        for name, value in sorted(values.items())
        if value is not None
        for part in (name, database_text(value))
    ]
    return hashlib.sha256(b"".join(b"%d:%s" % (len(part), part) for part in parts)).hexdigest()


def link_sha256(link: Values) -> str:
    """Return the hash that a link must have: the hash of all its columns except `sha256` itself."""
    return row_sha256({name: value for name, value in link.items() if name != "sha256"})


def database_text(value: Any) -> str:
    """Return a column's value as text, in the format of PostgreSQL's JSON functions."""
    if not isinstance(value, datetime):
        return str(value)
    moment = value.astimezone(UTC)
    fraction = f".{moment.microsecond:06}".rstrip("0") if moment.microsecond else ""
    return f"{moment:%Y-%m-%dT%H:%M:%S}{fraction}+00:00"


def verify_chain(chain: Iterable[ChainEntry], anchors: Mapping[int, Sequence[str]]) -> ChainVerification:
    """Verify a chain from its first link. `anchors` maps positions to the hashes that were recorded for them earlier."""
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
                ChainFinding(TamperKind.REMOVED, each.name, f"Link {each.link['position']} refers to it.")
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
            TamperKind.REMOVED, _link_range(before + 1, position - 1), f"The chain continues at link {position}."
        )
    elif position <= before:
        yield ChainFinding(TamperKind.INSERTED, f"link {position}", "Another link has this position.")
    elif each.link["previous_sha256"] not in fits:
        yield ChainFinding(TamperKind.REORDERED, f"link {position}", f"It does not continue from link {before}.")


def _check_texts(each: ChainEntry) -> Iterator[ChainFinding]:
    """Check an entry's text. The product does not delete texts of changes yet, so a missing text is a finding."""
    if each.text_is_sound is False:
        yield ChainFinding(TamperKind.ALTERED, f"text of {each.name}", "The record has another hash.")
    elif each.text_is_sound is None and each.entry is not None and "text_sha256" in each.entry:
        subject = f"{each.entry['act']} on {each.entry['subject_type']} {each.entry['subject_id']}"
        yield ChainFinding(TamperKind.REMOVED, f"text of {each.name}", f"The record ({subject}) has a hash of it.")


def _link_range(first: int, last: int) -> str:
    return f"link {first}" if first == last else f"links {first} to {last}"


def _check_anchors(link: Values, anchors: Mapping[int, Sequence[str]]) -> Iterator[ChainFinding]:
    position = link["position"]
    if any(known != link["sha256"] for known in anchors.get(position, ())):
        yield ChainFinding(TamperKind.ALTERED, f"link {position}", "Its hash differs from the one in its anchor.")


def _check_chain_length(result: ChainVerification, anchors: Mapping[int, Sequence[str]]) -> Iterator[ChainFinding]:
    last = max(anchors, default=0)
    if last > result.position:
        where = _link_range(result.position + 1, last)
        yield ChainFinding(
            TamperKind.REMOVED, where, f"An anchor says that the chain reached link {last}, but it ends earlier."
        )


def _broken_link_findings(broken: Sequence[ChainEntry]) -> Iterator[ChainFinding]:
    positions = [each.link["position"] for each in broken[:MOST_COMPARED]]
    for each in broken:
        link = each.link
        stood = next((at for at in positions if link_sha256({**link, "position": at}) == link["sha256"]), None)
        if stood is None:
            yield ChainFinding(TamperKind.ALTERED, f"link {link['position']}", "Its hash does not match its content.")
        else:
            yield ChainFinding(TamperKind.REORDERED, f"link {link['position']}", f"It was link {stood}.")


def _broken_entry_findings(broken: Sequence[ChainEntry]) -> Iterator[ChainFinding]:
    compared = broken[:MOST_COMPARED]
    for each in broken:
        stood = next((other.link["entry_id"] for other in compared if _is_moved_entry(each, other)), None)
        if stood is None:
            yield ChainFinding(TamperKind.ALTERED, each.name, f"Link {each.link['position']} has another hash for it.")
        else:
            yield ChainFinding(
                TamperKind.REORDERED, each.name, f"It was {replace(each, link={**each.link, 'entry_id': stood}).name}."
            )


def _is_moved_entry(each: ChainEntry, other: ChainEntry) -> bool:
    then = {**(each.entry or {}), "id": other.link["entry_id"]}
    return row_sha256(then) == str(other.link["entry_sha256"])
