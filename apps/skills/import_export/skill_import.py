"""Skills of elsewhere become drafts of an agent: looked at first, then taken one by one, each marked as imported (R093)."""

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import IO, Any, Final

from django.conf import settings

from apps.governance.actors import Actor
from apps.governance.authorization import authorize
from apps.governance.database.actor_transaction import acting
from apps.governance.errors import Conflicting, GovernanceError, Invalid
from apps.governance.models import Taint
from apps.governance.policy.table import POLICY, Act
from apps.skills.actions import draft_skill
from apps.skills.attachment_upload import refuse_full_tenant
from apps.skills.attachments.blob_store import keep
from apps.skills.import_export.import_candidates import Incoming, IncomingFile, Limits, skills_among
from apps.skills.import_export.skill_md import FILE_NAME
from apps.skills.import_export.zip_archives import Entry, Unreadable, entries_in, entries_under
from apps.skills.models import Skill
from apps.skills.skill_validation import Attached

HERE: Final = "The agent has a skill of that name already, in some state. It is left as it is."
SOURCE_CHARACTERS: Final = 200


class Outcome(StrEnum):
    """What becomes of one skill, or would."""

    NEW = "new"
    DRAFTED = "drafted"
    EXISTS = "exists"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Item:
    """One skill that came, and what became of it."""

    incoming: Incoming
    outcome: Outcome
    reason: str = ""
    skill: Skill | None = None


def skills_in(file: IO[bytes]) -> tuple[Incoming, ...]:
    """The skills in a zip, or the one a `SKILL.md` is. Refused as a whole where the archive itself is not to be trusted."""
    return _among(partial(entries_in, file))


def skills_at(path: Path) -> tuple[Incoming, ...]:
    """The same of a folder, or of a file as `skills_in` reads it."""
    if path.is_dir():
        return _among(partial(entries_under, path))
    with path.open("rb") as file:
        return skills_in(file)


def foreseen(found: Sequence[Incoming], agent_id: int, *, actor: Actor) -> list[Item]:
    """What would become of each. Nothing is written."""
    authorize(actor, Act.SKILL_DRAFT, actor.tenant_id, agent_id=agent_id)
    with acting(actor):
        here = set(Skill.objects.visible_to(actor).for_agent(agent_id).values_list("name", flat=True))
    return [_foreseen(each, each.name in here, actor) for each in found]


def take_skills(
    found: Sequence[Incoming], agent_id: int, *, actor: Actor, source: str, names: frozenset[str] | None = None
) -> list[Item]:
    """Draft each, or those named, in a commit of its own: what is refused takes nothing else with it."""
    items = foreseen(found, agent_id, actor=actor)
    wanted = (item for item in items if names is None or item.incoming.name in names)
    return [_taken(item, agent_id, actor, source) if item.outcome is Outcome.NEW else item for item in wanted]


def _among(entries: Callable[[], tuple[Entry, ...]]) -> tuple[Incoming, ...]:
    try:
        found = skills_among(entries(), Limits(settings.ATTACHMENT_BYTES, settings.ATTACHMENTS_PER_SKILL))
    except Unreadable as refusal:
        raise Invalid(str(refusal), {"file": [str(refusal)]}) from refusal
    if not found:
        nothing = f"There is no {FILE_NAME} in it. A skill is a folder with one."
        raise Invalid(nothing, {"file": [nothing]})
    return found


def _foreseen(each: Incoming, is_here: bool, actor: Actor) -> Item:
    if each.text is None:
        return Item(each, Outcome.REFUSED, each.flaw)
    if is_here:
        return Item(each, Outcome.EXISTS, HERE)
    if each.files and actor.role not in POLICY[Act.SKILL_ATTACH].allowed:
        return Item(
            each, Outcome.REFUSED, "It comes with files, and who attaches files has a name. Say as whom you import."
        )
    return Item(each, Outcome.NEW)


def _taken(item: Item, agent_id: int, actor: Actor, source: str) -> Item:
    try:
        skill = _drafted(item.incoming, agent_id, actor, source)
    except Conflicting:
        # Somebody else's in the meantime, or held apart where this actor does not see it.
        return Item(item.incoming, Outcome.EXISTS, HERE)
    except GovernanceError as refusal:
        return Item(item.incoming, Outcome.REFUSED, str(refusal))
    return Item(item.incoming, Outcome.DRAFTED, skill=skill)


def _drafted(incoming: Incoming, agent_id: int, actor: Actor, source: str) -> Skill:
    text = incoming.text
    if text is None:
        raise Invalid(incoming.flaw, {})
    files: tuple[Attached, ...] = ()
    if incoming.files:
        # Before a byte is stored; the act asks about the text alone.
        authorize(actor, Act.SKILL_ATTACH, actor.tenant_id, agent_id=agent_id)
        refuse_full_tenant(actor.tenant_id, sum(len(file.content) for file in incoming.files))
        files = tuple(_stored(file, actor) for file in incoming.files)
    return draft_skill(
        agent_id,
        actor=actor,
        values=text.values,
        evidence=_evidence(incoming, source),
        taint=Taint.IMPORT,
        files=files,
        front_matter=text.front_matter,
    )


def _stored(file: IncomingFile, actor: Actor) -> Attached:
    return Attached(
        name=file.name,
        media_type=file.media_type,
        size_bytes=len(file.content),
        sha256=hashlib.sha256(file.content).hexdigest(),
        key=keep(actor.tenant_id, file.content),
        uploaded_by=actor.label,
        is_imported=True,
        **asdict(file.found),
    )


def _evidence(incoming: Incoming, source: str) -> dict[str, Any]:
    """What a reviewer has to know that the draft itself does not say."""
    said: dict[str, Any] = {"imported_from": source[:SOURCE_CHARACTERS]}
    if incoming.left_out:
        said["left_out"] = list(incoming.left_out)
    if incoming.text and incoming.text.front_matter:
        said["front_matter"] = json.loads(incoming.text.front_matter)
    return said
