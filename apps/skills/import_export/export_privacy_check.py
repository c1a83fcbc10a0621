"""What looks like somebody's is looked for once more where a skill leaves the house, and named before it does.

Whoever approved a skill let it serve this tenant's customers; a copy that goes elsewhere is read by others, and the tenant may have
named more forms since then.
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
    """Nothing leaves in which something private is found, until a person says that it may.

    Raises FindingsUnconfirmed, which names up to `FINDINGS_SHOWN` of them. An agent confirms nothing.
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
        "A person has to look at it and export it."
        if actor.role is Role.AGENT
        else "Take it out, or confirm that it may leave: the house's own, for example."
    )
    raise FindingsUnconfirmed(f"This looks like somebody's, and nothing was exported: {named}. {way}", descriptions)


def _exported_texts(skill: Skill) -> Iterator[tuple[str, str]]:
    """Each text that leaves, by the place it is found at again."""
    place = f"{skill.agent.key}/{skill.name}"
    for name, text in {**skill.texts, "front matter": skill.front_matter}.items():
        yield f"{place}, {name}", text
    for file in skill.files:
        if file.is_text:
            for number, piece in enumerate(_split_text(read_content(file).decode()), 1):
                yield f"{place}, {file.name}" + (f", part {number}" if number > 1 else ""), piece


def _split_text(text: str) -> Iterator[str]:
    """A long file line by line, as much at once as reviewers are shown: looking takes longer than in proportion."""
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
