"""Who may change and fetch the files of a skill, and their bytes as they were approved (R091)."""

import hashlib
import logging
from dataclasses import dataclass

from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import acting
from apps.governance.errors import Invalid, NotPermitted, NotVisible
from apps.governance.policy.table import Act
from apps.governance.refusal_log import Subject, noting
from apps.skills.attachments.blob_store import bytes_at
from apps.skills.models import Skill
from apps.skills.skill_validation import FILE_CHARACTERS, Attached, Refused

logger = logging.getLogger(__name__)


def refuse_change(skill: Skill, actor: Actor, act: Act) -> None:
    """Files are part of what was approved: a person who changes them signs anew, an agent has its own drafts alone."""
    with noting(actor, act, Subject.of(skill)):
        _refuse_change(skill, actor)


def _refuse_change(skill: Skill, actor: Actor) -> None:
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


def file_for(skill_id: int, name: str, sha256: str, *, actor: Actor) -> Attached:
    """The file as this actor may fetch it now; gone, foreign and not approved read the same."""
    with acting(actor):
        skill = Skill.objects.visible_to(actor).filter(pk=skill_id).first()
        file = skill.file_named(name) if skill else None
        if skill is None or file is None or file.sha256 != sha256:
            raise NotVisible("There is no such file.")
        refuse_fetch(skill, actor)
    return file


def content_of(file: Attached) -> bytes:
    """The bytes, which are those that were reviewed or none. No transaction is open while they are read."""
    content = bytes_at(file.key)
    if content is None or hashlib.sha256(content).hexdigest() != file.sha256:
        logger.error("attachment is not what was stored", extra={"sha256": file.sha256, "missing": content is None})
        raise NotVisible("The stored file is not the one that was uploaded. Ask an operator to attach it again.")
    return content


@dataclass(frozen=True, slots=True)
class Read:
    """What a reviewer is shown of a file: its text or the beginning of it, and what they have to look at by themselves."""

    text: str | None
    note: str


def read_file(file: Attached) -> Read:
    """The file as it is reviewed. One that is gone or another than was uploaded says so in the place of its text."""
    try:
        content = content_of(file)
    except NotVisible as refusal:
        return Read(None, str(refusal))
    if not file.is_text:
        return Read(None, "This is no text, so nothing scans it and nothing of it is shown here. Download it and look.")
    text = content.decode()
    if len(text) <= FILE_CHARACTERS:
        return Read(text, "" if file.is_read_whole else "Nothing has scanned this file. Read it with care.")
    return Read(
        text[:FILE_CHARACTERS],
        f"These are the first {FILE_CHARACTERS} of {len(text)} characters. Download it to read the rest.",
    )


def refused(flaw: Refused) -> Invalid:
    """A rule's refusal in the kernel's words."""
    return Invalid(flaw.reason, {flaw.field: [flaw.reason]})
