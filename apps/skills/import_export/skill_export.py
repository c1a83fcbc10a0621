"""Approved skills as folders of the open format, in a zip whose bytes depend on the rows alone. What nobody approved stays here."""

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

NOT_APPROVED: Final = "Only what a person approved is exported, and this skill is {}."
NOTHING_TO_EXPORT: Final = "There is no approved skill to export."


def select_approved_skill(skill_id: int, *, actor: Actor) -> list[Skill]:
    """The skill, where it may leave: what is no customer's business yet, or no longer, is nobody else's either."""
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
    """Every approved skill that this actor sees, of one agent or of all."""
    _refuse_staff(actor)
    with acting_as(actor):
        skills = Skill.objects.visible_to(actor).approved().select_related("agent")
        found = list(skills if agent_id is None else skills.for_agent(agent_id))
    if not found:
        raise Conflict(NOTHING_TO_EXPORT)
    return sorted(found, key=lambda skill: (skill.agent.key, skill.name))


def build_archive(skills: Sequence[Skill], *, actor: Actor, confirm_findings: bool = False) -> bytes:
    """The archive of as many skills as an import takes at once. What looks private in it has to be confirmed."""
    weight = sum(len(skill.body.encode()) + sum(file.size_bytes for file in skill.files) for skill in skills)
    if weight > UNPACKED_BYTES:
        raise Conflict(
            f"Together these skills have {weight} bytes; {UNPACKED_BYTES} are sent at once. Export one agent's, or use the"
            " command export_skills."
        )
    out = BytesIO()
    write_zip(out, skills, actor=actor, confirm_findings=confirm_findings)
    return out.getvalue()


def write_zip(out: IO[bytes], skills: Sequence[Skill], *, actor: Actor, confirm_findings: bool = False) -> None:
    """Write the archive; one agent's skills stand at its top, those of several below their agents' keys."""
    refuse_private(skills, actor=actor, confirm=confirm_findings)
    several = len({skill.agent_id for skill in skills}) > 1
    write_archive(out, (entry for skill in skills for entry in _entries(skill, several)))


def archive_name(skills: Sequence[Skill]) -> str:
    """What the download is called."""
    if len(skills) == 1:
        return f"{skills[0].name}.zip"
    keys = {skill.agent.key for skill in skills}
    return f"skills-{keys.pop()}.zip" if len(keys) == 1 else "skills.zip"


def _refuse_staff(actor: Actor) -> None:
    # As of files one by one.
    if actor.role is Role.STAFF:
        raise NotPermitted("Platform staff take no skills away. Ask a member of the tenant.")


def _entries(skill: Skill, several: bool) -> Iterator[ArchiveEntry]:
    if skill.sha256 != skill.approved_sha256:
        raise Conflict(f"Skill {skill.name} is not what was approved. Nothing is exported; verify the books.")
    folder = PurePosixPath(*([skill.agent.key] if several else []), skill.name)
    yield ArchiveEntry(
        folder / SKILL_FILE_NAME, write_skill(_skill_text(skill), Provenance(skill.version, skill.approved_sha256))
    )
    for file in skill.files:
        yield ArchiveEntry(folder / _archive_path(file, skill.body), read_content(file))


def _skill_text(skill: Skill) -> SkillText:
    return SkillText(skill.name, skill.title, skill.description, skill.category, skill.body, skill.front_matter)


def _archive_path(file: Attachment, body: str) -> PurePosixPath:
    """Where the runbook says it lies, in one of the format's folders; beside the runbook where it says no more than a name."""
    folders = "|".join(SKILL_FOLDERS)
    match = re.search(rf"(?<![\w/.-])(?:\./)?({folders})/{re.escape(file.name)}(?![\w-]|\.\w)", body)
    if match:
        return PurePosixPath(match[1], file.name)
    is_ours = file.name.casefold() == SKILL_FILE_NAME.casefold()
    return PurePosixPath("references", file.name) if is_ours else PurePosixPath(file.name)
