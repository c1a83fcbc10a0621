"""Import of skills as drafts of an agent: a preview first, then one commit per skill. Each draft is marked as imported (R093)."""

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
from apps.governance.database.actor_transaction import acting_as
from apps.governance.errors import Conflict, GovernanceError, Invalid
from apps.governance.models import Taint
from apps.governance.policy.policy_table import POLICY, Act
from apps.skills.actions import draft_skill
from apps.skills.attachment_upload import refuse_full_tenant
from apps.skills.attachments.blob_store import store_bytes
from apps.skills.import_export.import_candidates import ImportLimits, IncomingFile, IncomingSkill, find_incoming_skills
from apps.skills.import_export.skill_md import SKILL_FILE_NAME
from apps.skills.import_export.zip_archives import (
    ArchiveEntry,
    UnreadableArchiveError,
    read_archive_entries,
    read_folder_entries,
)
from apps.skills.models import Skill
from apps.skills.skill_validation import Attachment

ALREADY_EXISTS: Final = "The agent already has a skill with this name, in some state. It was not changed."
SOURCE_CHARACTERS: Final = 200


class ImportOutcome(StrEnum):
    """The result of importing one skill, or the expected result in a preview."""

    NEW = "new"
    DRAFTED = "drafted"
    EXISTS = "exists"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class SkillImportItem:
    """One incoming skill with its outcome."""

    incoming: IncomingSkill
    outcome: ImportOutcome
    reason: str = ""
    skill: Skill | None = None


def read_skills_file(file: IO[bytes]) -> tuple[IncomingSkill, ...]:
    """Return the skills in a zip, or the one skill in a `SKILL.md`. Raises `Invalid` for a broken or unsafe archive."""
    return _read_skills(partial(read_archive_entries, file))


def read_skills_path(path: Path) -> tuple[IncomingSkill, ...]:
    """Return the skills in a folder, or in a file that `read_skills_file` can read."""
    if path.is_dir():
        return _read_skills(partial(read_folder_entries, path))
    with path.open("rb") as file:
        return read_skills_file(file)


def preview_import(found: Sequence[IncomingSkill], agent_id: int, *, actor: Actor) -> list[SkillImportItem]:
    """Return the expected outcome of importing each skill. Nothing is written."""
    authorize(actor, Act.SKILL_DRAFT, actor.tenant_id, agent_id=agent_id)
    with acting_as(actor):
        here = set(Skill.objects.visible_to(actor).for_agent(agent_id).values_list("name", flat=True))
    return [_preview_item(each, each.name in here, actor) for each in found]


def draft_imported_skills(
    found: Sequence[IncomingSkill], agent_id: int, *, actor: Actor, source: str, names: frozenset[str] | None = None
) -> list[SkillImportItem]:
    """Draft all skills, or those in `names`, each in its own commit, so that a refused skill does not affect the others."""
    items = preview_import(found, agent_id, actor=actor)
    wanted = (item for item in items if names is None or item.incoming.name in names)
    return [
        _import_item(item, agent_id, actor, source) if item.outcome is ImportOutcome.NEW else item for item in wanted
    ]


def _read_skills(entries: Callable[[], tuple[ArchiveEntry, ...]]) -> tuple[IncomingSkill, ...]:
    try:
        found = find_incoming_skills(entries(), ImportLimits(settings.ATTACHMENT_BYTES, settings.ATTACHMENTS_PER_SKILL))
    except UnreadableArchiveError as refusal:
        raise Invalid(str(refusal), {"file": [str(refusal)]}) from refusal
    if not found:
        nothing = f"It has no {SKILL_FILE_NAME}. A skill is a folder that holds one."
        raise Invalid(nothing, {"file": [nothing]})
    return found


def _preview_item(each: IncomingSkill, is_here: bool, actor: Actor) -> SkillImportItem:
    if each.text is None:
        return SkillImportItem(each, ImportOutcome.REFUSED, each.flaw)
    if is_here:
        return SkillImportItem(each, ImportOutcome.EXISTS, ALREADY_EXISTS)
    if each.files and actor.role not in POLICY[Act.SKILL_ATTACH].allowed:
        return SkillImportItem(
            each,
            ImportOutcome.REFUSED,
            "It comes with files, which need a person as their uploader. Name the member who imports it.",
        )
    return SkillImportItem(each, ImportOutcome.NEW)


def _import_item(item: SkillImportItem, agent_id: int, actor: Actor, source: str) -> SkillImportItem:
    try:
        skill = _draft_incoming(item.incoming, agent_id, actor, source)
    except Conflict:
        # Another person created the skill meanwhile, or it is in quarantine and hidden from this actor.
        return SkillImportItem(item.incoming, ImportOutcome.EXISTS, ALREADY_EXISTS)
    except GovernanceError as refusal:
        return SkillImportItem(item.incoming, ImportOutcome.REFUSED, str(refusal))
    return SkillImportItem(item.incoming, ImportOutcome.DRAFTED, skill=skill)


def _draft_incoming(incoming: IncomingSkill, agent_id: int, actor: Actor, source: str) -> Skill:
    text = incoming.text
    if text is None:
        raise Invalid(incoming.flaw, {})
    files: tuple[Attachment, ...] = ()
    if incoming.files:
        # Checked before any bytes are stored; `draft_skill` authorizes only the text.
        authorize(actor, Act.SKILL_ATTACH, actor.tenant_id, agent_id=agent_id)
        refuse_full_tenant(actor.tenant_id, sum(len(file.content) for file in incoming.files))
        files = tuple(_store_file(file, actor) for file in incoming.files)
    return draft_skill(
        agent_id,
        actor=actor,
        values=text.values,
        evidence=_evidence(incoming, source),
        taint=Taint.IMPORT,
        files=files,
        front_matter=text.front_matter,
    )


def _store_file(file: IncomingFile, actor: Actor) -> Attachment:
    return Attachment(
        name=file.name,
        media_type=file.media_type,
        size_bytes=len(file.content),
        sha256=hashlib.sha256(file.content).hexdigest(),
        key=store_bytes(actor.tenant_id, file.content),
        uploaded_by=actor.label,
        is_imported=True,
        **asdict(file.found),
    )


def _evidence(incoming: IncomingSkill, source: str) -> dict[str, Any]:
    """Return the evidence for reviewers that the draft itself does not contain."""
    evidence: dict[str, Any] = {"imported_from": source[:SOURCE_CHARACTERS]}
    if incoming.left_out:
        evidence["left_out"] = list(incoming.left_out)
    if incoming.text and incoming.text.front_matter:
        evidence["front_matter"] = json.loads(incoming.text.front_matter)
    return evidence
