"""The search for private data in skills before an export. A person must confirm the findings.

An approved skill may serve this tenant's customers, but other people read an exported copy. The tenant may also have added
patterns since the approval.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from apps.governance.actors import Actor, Role
from apps.governance.errors import FindingsUnconfirmed
from apps.skills.attachments.attachment_access import read_content
from apps.skills.models import Skill
from apps.skills.skill_validation import FILE_CHARACTERS
from apps.tenants.pii_flags import PiiFlag, find_pii

FINDINGS_SHOWN: Final = 20


def refuse_private(skills: Sequence[Skill], *, actor: Actor, confirm: bool) -> None:
    """Refuse to export skills that contain private data, unless a person confirms it.

    Raises FindingsUnconfirmed, which names up to `FINDINGS_SHOWN` findings. An agent's confirmation does not count.
    """
    if confirm and actor.role is not Role.AGENT:
        return
    found = find_pii({place: text for skill in skills for place, text in _exported_texts(skill)}, actor=actor)
    if not found:
        return
    descriptions = tuple(map(_describe_finding, found))
    named = "; ".join(descriptions[:FINDINGS_SHOWN]) + (
        f"; and {len(descriptions) - FINDINGS_SHOWN} more" if len(descriptions) > FINDINGS_SHOWN else ""
    )
    way = (
        "A person has to review it and export it."
        if actor.role is Role.AGENT
        else "Remove it, or confirm the export if it is not private, such as your own contact data."
    )
    raise FindingsUnconfirmed(f"This looks like private data, so nothing was exported: {named}. {way}", descriptions)


def _exported_texts(skill: Skill) -> Iterator[tuple[str, str]]:
    """Yield each exported text, with a readable name of its place."""
    place = f"{skill.agent.key}/{skill.name}"
    for name, text in {**skill.texts, "front matter": skill.front_matter}.items():
        yield f"{place}, {name}", text
    for file in skill.files:
        if file.is_text:
            for number, piece in enumerate(_split_text(read_content(file).decode()), 1):
                yield f"{place}, {file.name}" + (f", part {number}" if number > 1 else ""), piece


def _split_text(text: str) -> Iterator[str]:
    """Split a long file into pieces of whole lines, because the search takes more than linear time."""
    piece: list[str] = []
    length = 0
    for line in text.splitlines(keepends=True):
        if piece and length + len(line) > FILE_CHARACTERS:
            yield "".join(piece)
            piece, length = [], 0
        piece.append(line)
        length += len(line)
    yield "".join(piece)


def _describe_finding(found: PiiFlag) -> str:
    return f"“{found.words}” ({found.kind}) in {found.place}"
