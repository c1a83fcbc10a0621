"""Acts on skills. Agents draft; people decide (R018, R092-R096, R107)."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db.models import F
from django.utils import timezone

from apps.governance.acting import acting
from apps.governance.actions import open_proposal, settle_proposal
from apps.governance.actors import Actor
from apps.governance.door import authorize, governed, invalid, refuse_foreign, take_values
from apps.governance.errors import NotPermitted, NotVisible, Stale
from apps.governance.models import Proposal, Taint
from apps.governance.policy import Act
from apps.governance.proposals import ProposedChange
from apps.governance.refusals import Subject, noting
from apps.skills.files import refuse_change, refused
from apps.skills.models import Skill, SkillUse
from apps.skills.rules import Attached, Refused, crowded, named, rearranged

Files = tuple[Attached, ...]


def draft_skill(
    agent_id: int,
    *,
    actor: Actor,
    values: Mapping[str, str],
    evidence: Mapping[str, Any] | None = None,
    taint: Taint | None = None,
) -> Skill:
    """Write a runbook down. Every skill is born a draft, whoever writes it and whatever was asked for (R093)."""
    naming = named(values.get("name", ""), values.get("title", ""))
    skill = Skill(
        tenant_id=actor.tenant_id,
        agent_id=agent_id,
        name=naming.name,
        title=naming.title,
        description=values.get("description", ""),
        category=values.get("category", ""),
        body=values.get("body", ""),
        drafted_by=actor.label,
        taint=taint or (Taint.OPERATOR if actor.is_person else Taint.AGENT),
    )
    with governed(Act.SKILL_DRAFT, skill, actor=actor, evidence=evidence):
        pass
    return skill


def amend_skill(
    skill: Skill, *, actor: Actor, values: Mapping[str, str], read_at: int | None = None, reason: str = ""
) -> Skill:
    """Edit a draft. An approved skill is revised or proposed instead, so that what customers get was always approved (Z-3)."""
    _refuse_another_author(skill, actor, Act.SKILL_AMEND)
    with governed(Act.SKILL_AMEND, skill, actor=actor, read_at=read_at, reason=reason) as row:
        _refuse_unless_draft(row)
        take_values(row, Act.SKILL_AMEND, values)
    return skill


def approve_skill(
    skill: Skill, *, actor: Actor, reviewed_sha256: str, read_at: int | None = None, reason: str = ""
) -> Skill:
    """Let a reviewed draft reach customers. Sessions already open keep the index they started with."""
    with governed(Act.SKILL_APPROVE, skill, actor=actor, read_at=read_at, reason=reason) as row:
        _refuse_other_bytes(row, reviewed_sha256)
        row.approve()
        _sign(row, actor)
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
    """Change an approved skill as a person, who approves the new bytes; those of a proposal stay marked as its words."""
    evidence = proposal.authorship if proposal else None
    with governed(Act.SKILL_REVISE, skill, actor=actor, read_at=read_at, evidence=evidence, reason=reason) as row:
        if row.status != Skill.Status.APPROVED:
            raise NotPermitted(f"Only an approved skill is revised; this one is {row.status}.")
        take_values(row, Act.SKILL_REVISE, values)
        if proposal is not None:
            row.taint = Taint.joined(row.taint, proposal.taint)
        _sign(row, actor)
    return skill


def deprecate_skill(skill: Skill, *, actor: Actor, read_at: int | None = None, reason: str = "") -> Skill:
    """Retire a skill for good; the next session's index is without it."""
    with governed(Act.SKILL_DEPRECATE, skill, actor=actor, read_at=read_at, reason=reason) as row:
        row.deprecate()
    return skill


def discard_skill(skill: Skill, *, actor: Actor, read_at: int | None = None, reason: str = "") -> None:
    """Remove a draft nobody reviewed; an agent only its own (Z-2). Its words stay in the change record."""
    _refuse_another_author(skill, actor, Act.SKILL_DISCARD)
    with governed(Act.SKILL_DISCARD, skill, actor=actor, read_at=read_at, reason=reason, removes=True) as row:
        _refuse_unless_draft(row)


def propose_revision(
    skill: Skill, *, actor: Actor, values: Mapping[str, str], evidence: Mapping[str, Any] | None = None
) -> Proposal:
    """Bring a next version of an approved skill before a person; the live one is untouched until then (Z-3)."""
    refuse_foreign(Act.SKILL_PROPOSE, values)
    _refuse_flaws(skill, values)
    kind = Proposal.Kind.SKILL_REVISION
    change = ProposedChange(kind, skill.agent_id, skill.content_sha256, values, evidence=evidence or {})
    return open_proposal(skill, actor=actor, act=Act.SKILL_PROPOSE, change=change)


def propose_deprecation(
    skill: Skill, *, actor: Actor, rationale: str, evidence: Mapping[str, Any] | None = None
) -> Proposal:
    """Ask a person to retire a skill (R020, Z-2)."""
    kind = Proposal.Kind.SKILL_DEPRECATION
    change = ProposedChange(kind, skill.agent_id, skill.content_sha256, {}, rationale, evidence or {})
    return open_proposal(skill, actor=actor, act=Act.SKILL_PROPOSE, change=change)


def apply_revision(
    skill: Skill,
    *,
    actor: Actor,
    proposal: Proposal,
    values: Mapping[str, str],
    read_at: int,
    proposal_read_at: int,
) -> Skill:
    """Make a proposed version the live one and close the proposal, in one commit. Both versions are those the person read."""
    with acting(actor):
        # Not too early: the door compares the version of this very skill under its lock.
        _refuse_other_bytes(skill, proposal.base_sha256)
        reason = f"Applies proposal {proposal.pk}."
        revise_skill(skill, actor=actor, values=values, read_at=read_at, reason=reason, proposal=proposal)
        settle_proposal(proposal, actor=actor, read_at=proposal_read_at)
    return skill


def apply_deprecation(skill: Skill, *, actor: Actor, proposal: Proposal, read_at: int, proposal_read_at: int) -> Skill:
    """Retire a skill as proposed and close the proposal, in one commit. Both versions are those the person read."""
    with acting(actor):
        # Not too early: the door compares the version of this very skill under its lock.
        _refuse_other_bytes(skill, proposal.base_sha256)
        deprecate_skill(skill, actor=actor, read_at=read_at, reason=f"Applies proposal {proposal.pk}.")
        settle_proposal(proposal, actor=actor, read_at=proposal_read_at)
    return skill


def attach_file(skill: Skill, *, actor: Actor, file: Attached, read_at: int | None = None, reason: str = "") -> Skill:
    """Put a stored file at the end of a skill's files; on an approved skill a person signs the whole anew (R091)."""

    def added(files: Files) -> Files:
        if full := crowded(files, file.name, settings.ATTACHMENTS_PER_SKILL):
            raise refused(full)
        return (*files, file)

    return _change_files(Act.SKILL_ATTACH, skill, actor, added, read_at, reason)


def detach_file(skill: Skill, *, actor: Actor, name: str, read_at: int | None = None, reason: str = "") -> Skill:
    """Take a file off a skill. Its bytes stay as long as a change record tells of them."""

    def left(files: Files) -> Files:
        kept = tuple(file for file in files if file.name != name)
        if kept == files:
            raise NotVisible(f"This skill has no file {name}.")
        return kept

    return _change_files(Act.SKILL_DETACH, skill, actor, left, read_at, reason)


def arrange_files(
    skill: Skill, *, actor: Actor, names: Sequence[str], read_at: int | None = None, reason: str = ""
) -> Skill:
    """Put a skill's files in another order; the first is what clients that know one attachment see (Z-20)."""

    def ordered(files: Files) -> Files:
        arranged = rearranged(files, names)
        if isinstance(arranged, Refused):
            raise refused(arranged)
        return arranged

    return _change_files(Act.SKILL_ARRANGE, skill, actor, ordered, read_at, reason)


def count_use(skill: Skill, *, actor: Actor) -> None:
    """Count a fetch of an approved skill (R096). A counter is no governed content: no record, no version."""
    authorize(actor, Act.SKILL_FETCH, skill.tenant_id, agent_id=skill.agent_id)
    if skill.status != Skill.Status.APPROVED:
        return
    with acting(actor):
        SkillUse.objects.get_or_create(skill=skill, defaults={"tenant_id": skill.tenant_id})
        SkillUse.objects.filter(skill=skill).update(use_count=F("use_count") + 1, last_used_at=timezone.now())


def _change_files(
    act: Act, skill: Skill, actor: Actor, change: Callable[[Files], Files], read_at: int | None, reason: str
) -> Skill:
    authorize(actor, act, skill.tenant_id, agent_id=skill.agent_id)
    # Said before the door, whose lock the database already refuses.
    refuse_change(skill, actor, act)
    with governed(act, skill, actor=actor, read_at=read_at, reason=reason) as row:
        refuse_change(row, actor, act)
        row.attachments = [asdict(file) for file in change(row.files)]
        if row.status == Skill.Status.APPROVED:
            _sign(row, actor)
    return skill


def _sign(row: Skill, actor: Actor) -> None:
    row.approved_sha256 = row.sha256
    row.approved_by = actor.label
    row.approved_at = timezone.now()


def _refuse_other_bytes(row: Skill, reviewed_sha256: str) -> None:
    if row.content_sha256 != reviewed_sha256:
        raise Stale("The skill changed since you read it. Read it again and decide on what stands there.", row.version)


def _refuse_another_author(row: Skill, actor: Actor, act: Act) -> None:
    # Else an agent's words would go before the reviewer under a person's name. Said before the door, whose lock the
    # database already refuses; a draft never changes its author.
    if not actor.is_person and row.drafted_by != actor.label:
        with noting(actor, act, Subject.of(row)):
            raise NotPermitted(
                "An agent may change or discard only a draft of its own. Ask an operator to deprecate this one."
            )


def _refuse_flaws(skill: Skill, values: Mapping[str, str]) -> None:
    # What could never be applied is refused to the proposer, not to the reviewer.
    candidate = Skill(tenant_id=skill.tenant_id, **values)
    others = {field.name for field in Skill._meta.concrete_fields} - set(values)
    try:
        candidate.clean_fields(exclude=others)
    except ValidationError as refusal:
        raise invalid(refusal) from refusal


def _refuse_unless_draft(row: Skill) -> None:
    if row.status != Skill.Status.DRAFT:
        raise NotPermitted(
            f"This skill is {row.status}; only a draft can be changed or discarded. Propose a revision instead."
        )
