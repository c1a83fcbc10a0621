"""What a reviewer has to know of a skill that came as a file: what was left out, and what its writer said of it besides."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Brought:
    """Where it came from, what did not come along, and what is kept of its front matter, name by name."""

    source: str
    left_out: tuple[str, ...]
    kept: tuple[tuple[str, str], ...]


def brought(evidence: Mapping[str, Any]) -> Brought | None:
    """Of what an import laid to its draft; None for whatever was written here."""
    source = evidence.get("imported_from")
    if not isinstance(source, str):
        return None
    return Brought(source, tuple(evidence.get("left_out", ())), tuple(_lines(evidence.get("front_matter", {}))))


def _lines(front_matter: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name, value in front_matter.items():
        if isinstance(value, Mapping):
            yield from ((str(key), str(text)) for key, text in value.items())
        else:
            yield name, ", ".join(value) if isinstance(value, list) else str(value)
