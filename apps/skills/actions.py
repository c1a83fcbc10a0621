"""Governed writes on skills: draft, amend, revise, deprecate, discard, retain, and change files.

Agents draft; people decide (R018, R092-R096, R107). `retain_skill` declines a suggestion to retire a skill: a person gives a
reason, and the skill is not suggested again for a while.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from django.conf import settings
from django.db import ProgrammingError
from django.db.models import F
from django.utils import timezone

from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import acting_as
from apps.governance.database.deferred_constraints import check_references_to
from apps.governance.errors import Conflict, IllegalTransition, NotPermitted, NotVisible, refuse_blank
from apps.governance.governed_write import assign_values, authorize, governed, governed_create
from apps.governance.models import Proposal, Taint
from apps.governance.policy.policy_table import Act
from apps.governance.proposals.actions import (
    reject_proposal,
    withdraw_proposal,
)
from apps.governance.refusal_log import RefusalSubject, recording_refusals
from apps.skills.attachments.attachment_access import invalid_from_refusal, refuse_change
from apps.skills.models import Skill, SkillUse
from apps.skills.proposals import (
    refuse_if_referenced,
    refuse_quarantined,
    submission_of,
    submit_draft,
)
from apps.skills.publication import sign_approval
from apps.skills.retirement_rules import RETENTION_PERIOD
from apps.skills.skill_validation import (
    Attachment,
    FileRefusal,
    complete_naming,
    file_limit_refusal,
    reorder_files,
)

AttachmentFiles = tuple[Attachment, ...]


def draft_skill(
    agent_id: int,
    *,
    actor: Actor,
    values: Mapping[str, str],
    evidence: Mapping[str, Any] | None = None,
    taint: Taint | None = None,
    files: AttachmentFiles = (),
    front_matter: str = "",
) -> Skill:
    """Create a skill and submit it for review. Every skill starts as a draft, whoever writes it (R093)."""
    naming = complete_naming(values.get("name", ""), values.get("title", ""))
    skill = Skill(
        tenant_id=actor.tenant_id,
        agent_id=agent_id,
        name=naming.name,
        title=naming.title,
        description=values.get("description", ""),
        category=values.get("category", ""),
        body=values.get("body", ""),
        attachments=[asdict(file) for file in files],
        front_matter=front_matter,
        drafted_by=actor.label,
        taint=taint or (Taint.OPERATOR if actor.is_person else Taint.AGENT),
    )
    with acting_as(actor):
        governed_create(Act.SKILL_DRAFT, skill, actor=actor, evidence=evidence)
        submit_draft(skill, actor=actor, evidence=evidence)
    return skill


def amend_skill(
    skill: Skill,
    *,
    actor: Actor,
    values: Mapping[str, str],
    read_at: int | None = None,
    reason: str = "",
    evidence: Mapping[str, Any] | None = None,
    taint: Taint | None = None,
) -> Skill:
    """Edit a draft; the new source joins the draft's taint.

    Approved skills are refused: revise them, or propose a revision (Z-3).
    """
    _refuse_another_author(skill, actor, Act.SKILL_AMEND)
    with acting_as(actor):
        with governed(Act.SKILL_AMEND, skill, actor=actor, read_at=read_at, evidence=evidence, reason=reason) as row:
            _refuse_unless_draft(row)
            assign_values(row, Act.SKILL_AMEND, values)
            row.taint = Taint.joined(row.taint, taint or row.taint)
        submit_draft(skill, actor=actor, evidence=evidence)
    return skill


def revise_skill(
    skill: Skill,
    *,
    actor: Actor,
    values: Mapping[str, str],
    read_at: int | None = None,
    reason: str = "",
    proposal: Proposal | None = None,
) -> Skill:
    """Change an approved skill as a person, who thereby approves the new bytes. A proposal's taint joins the skill's taint."""
    evidence = proposal.authorship if proposal else None
    with governed(Act.SKILL_REVISE, skill, actor=actor, read_at=read_at, evidence=evidence, reason=reason) as row:
        _refuse_unless_approved(row)
        assign_values(row, Act.SKILL_REVISE, values)
        if proposal is not None:
            row.taint = Taint.joined(row.taint, proposal.taint)
        sign_approval(row, actor)
    return skill


def deprecate_skill(
    skill: Skill,
    *,
    actor: Actor,
    read_at: int | None = None,
    reason: str = "",
    evidence: Mapping[str, Any] | None = None,
) -> Skill:
    """Deprecate a skill, which only a restore makes a draft again. Later sessions do not list it.

    A draft's open proposal is rejected.
    """
    with acting_as(actor):
        with governed(
            Act.SKILL_DEPRECATE, skill, actor=actor, read_at=read_at, evidence=evidence, reason=reason
        ) as row:
            row.deprecate()
        waiting = submission_of(skill, actor)
        if waiting is not None and waiting.is_open:
            reject_proposal(waiting, actor=actor, reason=reason)
    return skill


def redraft_skill(
    skill: Skill,
    *,
    actor: Actor,
    values: Mapping[str, str],
    files: AttachmentFiles = (),
    taint: Taint | None = None,
    read_at: int | None = None,
    reason: str = "",
) -> Skill:
    """Make a deprecated skill a draft again, with these texts and files, and submit it for review.

    Only a restore does this (R092). The skill keeps its name, its id and its history, and needs an approval as it did before.
    """
    with acting_as(actor):
        with governed(Act.SKILL_REDRAFT, skill, actor=actor, read_at=read_at, reason=reason) as row:
            if row.status == Skill.Status.DEPRECATED and not row.approved_by:
                raise IllegalTransition("This draft was rejected and never approved. Write another one.")
            row.redraft()
            assign_values(row, Act.SKILL_REDRAFT, values)
            row.attachments = [asdict(file) for file in files]
            row.taint = Taint.joined(row.taint, taint or row.taint)
            row.approved_sha256, row.approved_by, row.approved_at = "", "", None
        submit_draft(skill, actor=actor)
    return skill


def discard_skill(skill: Skill, *, actor: Actor, read_at: int | None = None, reason: str = "") -> None:
    """Delete a draft that nobody reviewed. An agent may delete only its own (Z-2). The change record keeps the draft's words."""
    _refuse_another_author(skill, actor, Act.SKILL_DISCARD)
    with refuse_if_referenced(), acting_as(actor):
        waiting = submission_of(skill, actor)
        with governed(Act.SKILL_DISCARD, skill, actor=actor, read_at=read_at, reason=reason, removes=True) as row:
            _refuse_unless_draft(row)
        if waiting is not None:
            withdraw_proposal(waiting, actor=actor, reason=reason)
        check_references_to(Skill._meta.db_table)


def attach_file(
    skill: Skill,
    *,
    actor: Actor,
    file: Attachment,
    read_at: int | None = None,
    reason: str = "",
    taint: Taint | None = None,
) -> Skill:
    """Append a stored file to a skill's files.

    On an approved skill, this signs the whole skill again as the acting person (R091).
    """

    def added(files: AttachmentFiles) -> AttachmentFiles:
        if full := file_limit_refusal(files, file.name, settings.ATTACHMENTS_PER_SKILL):
            raise invalid_from_refusal(full)
        return (*files, file)

    return _change_files(Act.SKILL_ATTACH, skill, actor, added, read_at, reason=reason, taint=taint)


def detach_file(skill: Skill, *, actor: Actor, name: str, read_at: int | None = None, reason: str = "") -> Skill:
    """Remove a file from a skill. Its bytes stay stored while a change record refers to them."""

    def left(files: AttachmentFiles) -> AttachmentFiles:
        kept = tuple(file for file in files if file.name != name)
        if kept == files:
            raise NotVisible(f"This skill has no file {name}.")
        return kept

    return _change_files(Act.SKILL_DETACH, skill, actor, left, read_at, reason=reason)


def arrange_files(
    skill: Skill, *, actor: Actor, names: Sequence[str], read_at: int | None = None, reason: str = ""
) -> Skill:
    """Reorder a skill's files. Clients that support only one attachment get the first (Z-20)."""

    def ordered(files: AttachmentFiles) -> AttachmentFiles:
        arranged = reorder_files(files, names)
        if isinstance(arranged, FileRefusal):
            raise invalid_from_refusal(arranged)
        return arranged

    return _change_files(Act.SKILL_ARRANGE, skill, actor, ordered, read_at, reason=reason)


def count_use(skill: Skill, *, actor: Actor) -> None:
    """Count a fetch of an approved skill (R096). The counter is not governed: it creates no change record and no version."""
    authorize(actor, Act.SKILL_FETCH, skill.tenant_id, agent_id=skill.agent_id)
    if skill.status != Skill.Status.APPROVED:
        return
    try:
        with acting_as(actor):
            SkillUse.objects.get_or_create(skill=skill, defaults={"tenant_id": skill.tenant_id})
            SkillUse.objects.filter(skill=skill).update(use_count=F("use_count") + 1, last_used_at=timezone.now())
    except ProgrammingError as refusal:
        # PostgreSQL hides the skill from this agent: it belongs to another agent, or was quarantined after the agent read it.
        raise NotVisible("There is no such skill, or it is not yours to read.") from refusal


def _change_files(
    act: Act,
    skill: Skill,
    actor: Actor,
    change: Callable[[AttachmentFiles], AttachmentFiles],
    read_at: int | None,
    *,
    reason: str,
    taint: Taint | None = None,
) -> Skill:
    authorize(actor, act, skill.tenant_id, agent_id=skill.agent_id)
    # Checked before `governed`, because the database would refuse the lock with a less helpful message.
    refuse_change(skill, actor, act)
    with acting_as(actor):
        with governed(act, skill, actor=actor, read_at=read_at, reason=reason) as row:
            refuse_change(row, actor, act)
            refuse_quarantined(row)
            row.attachments = [asdict(file) for file in change(row.files)]
            row.taint = Taint.joined(row.taint, taint or row.taint)
            if row.status == Skill.Status.APPROVED:
                sign_approval(row, actor)
        if skill.status == Skill.Status.DRAFT:
            submit_draft(skill, actor=actor)
    return skill


def _refuse_another_author(row: Skill, actor: Actor, act: Act) -> None:
    # Otherwise a reviewer would read an agent's words under a person's name. Checked before `governed`, because the database
    # would refuse the lock with a less helpful message; the author of a draft never changes.
    if not actor.is_person and row.drafted_by != actor.label:
        with recording_refusals(actor, act, RefusalSubject.of(row)):
            raise NotPermitted(
                "An agent may change or discard only its own drafts. Ask an operator to deprecate this one."
            )


def _refuse_unless_draft(row: Skill) -> None:
    if row.status != Skill.Status.DRAFT:
        raise NotPermitted(
            f"This skill is {row.status}; only a draft can be changed or discarded. Propose a revision instead."
        )


def _refuse_unless_approved(row: Skill) -> None:
    if row.status != Skill.Status.APPROVED:
        raise NotPermitted(f"Only an approved skill can be revised; this one is {row.status}.")


def retain_skill(skill: Skill, *, actor: Actor, reason: str, read_at: int | None = None) -> Skill:
    """Keep an approved skill: for `RETENTION_PERIOD` it is not suggested for retirement. The change history keeps the reason."""
    with governed(Act.SKILL_RETAIN, skill, actor=actor, read_at=read_at, reason=reason) as row:
        refuse_blank(reason, "Give a reason for keeping the skill. It is shown with the next suggestion to retire it.")
        if row.status != Skill.Status.APPROVED:
            raise Conflict(f"This skill is {row.status}; only an approved one can be kept or retired.")
        row.retained_until = timezone.now() + RETENTION_PERIOD
    return skill
