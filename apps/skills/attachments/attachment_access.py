"""Who may change and fetch the files of a skill, and their bytes as they were approved (R091)."""

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
    """Files are part of what was approved: a person who changes them signs anew, an agent has its own drafts alone."""
    with recording_refusals(actor, act, RefusalSubject.of(skill)):
        _check_change_allowed(skill, actor)


def _check_change_allowed(skill: Skill, actor: Actor) -> None:
    if skill.status == Skill.Status.DEPRECATED:
        raise NotPermitted("A deprecated skill stays as it is, its files included. Draft a fresh one.")
    if actor.is_person:
        return
    if skill.status != Skill.Status.DRAFT:
        raise NotPermitted(
            f"This skill is {skill.status}: an agent may not change its files. Ask an operator, or draft a skill of your own."
        )
    if skill.drafted_by != actor.label:
        raise NotPermitted("An agent may change the files of a draft of its own alone. Ask an operator.")


def refuse_fetch(skill: Skill, actor: Actor) -> None:
    """An agent has the files a person approved, and those of its own drafts; people review whatever there is."""
    approved = skill.status == Skill.Status.APPROVED and skill.approved_sha256 == skill.content_sha256
    own = skill.status == Skill.Status.DRAFT and skill.drafted_by == actor.label
    if not (actor.is_person or approved or own):
        raise NotPermitted(
            f"This skill is {skill.status}: an agent has the files of approved skills and of its own drafts."
        )


def find_fetchable_file(skill_id: int, name: str, sha256: str, *, actor: Actor) -> Attachment:
    """The file as this actor may fetch it now; gone, foreign and not approved read the same."""
    with acting_as(actor):
        skill = Skill.objects.visible_to(actor).filter(pk=skill_id).first()
        file = skill.file_named(name) if skill else None
        if skill is None or file is None or file.sha256 != sha256:
            raise NotVisible("There is no such file.")
        refuse_fetch(skill, actor)
    return file


def read_content(file: Attachment) -> bytes:
    """The bytes, which are those that were reviewed or none. No transaction is open while they are read."""
    content = read_bytes(file.key)
    if content is None or hashlib.sha256(content).hexdigest() != file.sha256:
        logger.error("attachment is not what was stored", extra={"sha256": file.sha256, "missing": content is None})
        raise NotVisible("The stored file is not the one that was uploaded. Ask an operator to attach it again.")
    return content


@dataclass(frozen=True, slots=True)
class AttachmentPreview:
    """What a reviewer is shown of a file: its text or the beginning of it, and what they have to look at by themselves."""

    text: str | None
    note: str


def read_file(file: Attachment) -> AttachmentPreview:
    """The file as it is reviewed. One that is gone or another than was uploaded says so in the place of its text."""
    try:
        content = read_content(file)
    except NotVisible as refusal:
        return AttachmentPreview(None, str(refusal))
    if not file.is_text:
        return AttachmentPreview(
            None, "This is no text, so nothing scans it and nothing of it is shown here. Download it and look."
        )
    text = content.decode()
    if len(text) <= FILE_CHARACTERS:
        return AttachmentPreview(
            text, "" if file.is_read_whole else "Nothing has scanned this file. Read it with care."
        )
    return AttachmentPreview(
        text[:FILE_CHARACTERS],
        f"These are the first {FILE_CHARACTERS} of {len(text)} characters. Download it to read the rest.",
    )


def invalid_from_refusal(flaw: FileRefusal) -> Invalid:
    """A rule's refusal in the kernel's words."""
    return Invalid(flaw.reason, {flaw.field: [flaw.reason]})
