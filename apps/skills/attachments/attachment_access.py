"""Access to the files of a skill: who may change and fetch them, and verified reads of the bytes (R091)."""

import hashlib
import logging
from dataclasses import dataclass

from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import acting_as
from apps.governance.errors import Invalid, NotPermitted, NotVisible
from apps.governance.policy.policy_table import Act
from apps.governance.refusal_log import RefusalSubject, recording_refusals
from apps.skills.attachments.blob_store import read_bytes
from apps.skills.models import Skill
from apps.skills.skill_validation import FILE_CHARACTERS, Attachment, FileRefusal

logger = logging.getLogger(__name__)


def refuse_change(skill: Skill, actor: Actor, act: Act) -> None:
    """Refuse to change the files of a deprecated skill. Agents may change only the files of their own drafts."""
    with recording_refusals(actor, act, RefusalSubject.of(skill)):
        _check_change_allowed(skill, actor)


def _check_change_allowed(skill: Skill, actor: Actor) -> None:
    if skill.status == Skill.Status.DEPRECATED:
        raise NotPermitted("The files of a deprecated skill cannot change. Draft a new skill.")
    if actor.is_person:
        return
    if skill.status != Skill.Status.DRAFT:
        raise NotPermitted(
            f"This skill is {skill.status}: an agent may not change its files. Ask an operator, or draft a skill of your own."
        )
    if skill.drafted_by != actor.label:
        raise NotPermitted("An agent may change only the files of its own drafts. Ask an operator.")


def refuse_fetch(skill: Skill, actor: Actor) -> None:
    """Refuse a fetch by an agent unless the skill is approved or the agent's own draft. People may fetch every file."""
    approved = skill.status == Skill.Status.APPROVED and skill.approved_sha256 == skill.content_sha256
    own = skill.status == Skill.Status.DRAFT and skill.drafted_by == actor.label
    if not (actor.is_person or approved or own):
        raise NotPermitted(
            f"This skill is {skill.status}: an agent may fetch only files of approved skills and of its own drafts."
        )


def find_fetchable_file(skill_id: int, name: str, sha256: str, *, actor: Actor) -> Attachment:
    """Return the file if the actor may fetch it now. A missing file and another agent's file give the same refusal."""
    with acting_as(actor):
        skill = Skill.objects.visible_to(actor).filter(pk=skill_id).first()
        file = skill.file_named(name) if skill else None
        if skill is None or file is None or file.sha256 != sha256:
            raise NotVisible("There is no such file.")
        refuse_fetch(skill, actor)
    return file


def read_content(file: Attachment) -> bytes:
    """Return the bytes of a file. Raises `NotVisible` unless they match the recorded hash. Call without an open transaction."""
    content = read_bytes(file.key)
    if content is None or hashlib.sha256(content).hexdigest() != file.sha256:
        logger.error("attachment is not what was stored", extra={"sha256": file.sha256, "missing": content is None})
        raise NotVisible(
            "The stored file is missing or differs from the uploaded one. Ask an operator to attach it again."
        )
    return content


@dataclass(frozen=True, slots=True)
class AttachmentPreview:
    """A file as a reviewer sees it: its text or the beginning of the text, and a note about what is not shown or scanned."""

    text: str | None
    note: str


def read_file(file: Attachment) -> AttachmentPreview:
    """Return the preview of a file for its review. If the stored bytes are missing or changed, the note says so."""
    try:
        content = read_content(file)
    except NotVisible as refusal:
        return AttachmentPreview(None, str(refusal))
    if not file.is_text:
        return AttachmentPreview(
            None, "This is not a text file, so it was not scanned and is not shown here. Download it to review it."
        )
    text = content.decode()
    if len(text) <= FILE_CHARACTERS:
        return AttachmentPreview(text, "" if file.is_read_whole else "This file was not scanned. Read it with care.")
    return AttachmentPreview(
        text[:FILE_CHARACTERS],
        f"These are the first {FILE_CHARACTERS} of {len(text)} characters. Download it to read the rest.",
    )


def invalid_from_refusal(flaw: FileRefusal) -> Invalid:
    """Convert a `FileRefusal` to `Invalid`."""
    return Invalid(flaw.reason, {flaw.field: [flaw.reason]})
