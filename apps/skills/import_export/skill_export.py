"""Export of approved skills as a zip of folders in the open format. The same skills always give the same bytes."""

import re
from collections.abc import Iterator, Sequence
from io import BytesIO
from pathlib import PurePosixPath
from typing import IO, Final

from apps.governance.actors import Actor, Role
from apps.governance.database.actor_transaction import acting_as
from apps.governance.errors import Conflict, NotPermitted, NotVisible
from apps.skills.attachments.attachment_access import read_content
from apps.skills.import_export.export_privacy_check import refuse_private
from apps.skills.import_export.import_candidates import SKILL_FOLDERS
from apps.skills.import_export.skill_md import SKILL_FILE_NAME, Provenance, SkillText, write_skill
from apps.skills.import_export.zip_archives import UNPACKED_BYTES, ArchiveEntry, write_archive
from apps.skills.models import Skill
from apps.skills.skill_validation import Attachment

NOT_APPROVED: Final = "Only approved skills can be exported, and this skill is {}."
NOTHING_TO_EXPORT: Final = "There is no approved skill to export."


def select_approved_skill(skill_id: int, *, actor: Actor) -> list[Skill]:
    """Return a list with the skill of this id. Raises `Conflict` unless it is approved and not quarantined."""
    _refuse_staff(actor)
    with acting_as(actor):
        skill = Skill.objects.visible_to(actor).select_related("agent").filter(pk=skill_id).first()
    if skill is None:
        raise NotVisible("There is no such skill.")
    if skill.is_quarantined:
        raise Conflict(NOT_APPROVED.format("in quarantine"))
    if skill.status != Skill.Status.APPROVED:
        raise Conflict(NOT_APPROVED.format(skill.status))
    return [skill]


def select_approved_skills(agent_id: int | None = None, *, actor: Actor) -> list[Skill]:
    """Return every approved skill that the actor may see, of one agent or of all agents."""
    _refuse_staff(actor)
    with acting_as(actor):
        skills = Skill.objects.visible_to(actor).approved().select_related("agent")
        found = list(skills if agent_id is None else skills.for_agent(agent_id))
    if not found:
        raise Conflict(NOTHING_TO_EXPORT)
    return sorted(found, key=lambda skill: (skill.agent.key, skill.name))


def build_archive(skills: Sequence[Skill], *, actor: Actor, confirm_findings: bool = False) -> bytes:
    """Return the zip as bytes. Its size is limited to what an import accepts, and private data in it must be confirmed."""
    weight = sum(len(skill.body.encode()) + sum(file.size_bytes for file in skill.files) for skill in skills)
    if weight > UNPACKED_BYTES:
        raise Conflict(
            f"Together these skills have {weight} bytes; at most {UNPACKED_BYTES} are sent at once. Export one agent's, or use the"
            " command export_skills."
        )
    out = BytesIO()
    write_zip(out, skills, actor=actor, confirm_findings=confirm_findings)
    return out.getvalue()


def write_zip(out: IO[bytes], skills: Sequence[Skill], *, actor: Actor, confirm_findings: bool = False) -> None:
    """Write the zip. One agent's skills are at its top level; several agents' are in folders named by the agents' keys."""
    refuse_private(skills, actor=actor, confirm=confirm_findings)
    several = len({skill.agent_id for skill in skills}) > 1
    write_archive(out, (entry for skill in skills for entry in _entries(skill, several)))


def archive_name(skills: Sequence[Skill]) -> str:
    """Return the file name of the download."""
    if len(skills) == 1:
        return f"{skills[0].name}.zip"
    keys = {skill.agent.key for skill in skills}
    return f"skills-{keys.pop()}.zip" if len(keys) == 1 else "skills.zip"


def _refuse_staff(actor: Actor) -> None:
    # Platform staff may not download single files either.
    if actor.role is Role.STAFF:
        raise NotPermitted("Platform staff may not export skills. Ask a member of the tenant.")


def _entries(skill: Skill, several: bool) -> Iterator[ArchiveEntry]:
    if skill.sha256 != skill.approved_sha256:
        raise Conflict(f"Skill {skill.name} differs from the approved text. Nothing was exported; check the audit log.")
    folder = PurePosixPath(*([skill.agent.key] if several else []), skill.name)
    yield ArchiveEntry(
        folder / SKILL_FILE_NAME, write_skill(_skill_text(skill), Provenance(skill.version, skill.approved_sha256))
    )
    for file in skill.files:
        yield ArchiveEntry(folder / _archive_path(file, skill.body), read_content(file))


def _skill_text(skill: Skill) -> SkillText:
    return SkillText(skill.name, skill.title, skill.description, skill.category, skill.body, skill.front_matter)


def _archive_path(file: Attachment, body: str) -> PurePosixPath:
    """Return the file's path in the skill's folder: in the subfolder that the runbook mentions, or next to the runbook."""
    folders = "|".join(SKILL_FOLDERS)
    match = re.search(rf"(?<![\w/.-])(?:\./)?({folders})/{re.escape(file.name)}(?![\w-]|\.\w)", body)
    if match:
        return PurePosixPath(match[1], file.name)
    is_ours = file.name.casefold() == SKILL_FILE_NAME.casefold()
    return PurePosixPath("references", file.name) if is_ours else PurePosixPath(file.name)
