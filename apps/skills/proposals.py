"""Proposals about skills: a new draft, a revision of an approved skill, or the retirement of a skill (R020, Z-2, Z-3)."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from django.db import IntegrityError

from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import acting_as
from apps.governance.errors import (
    Conflict,
    IllegalTransition,
    NotPermitted,
    ReviewedContentChanged,
)
from apps.governance.governed_write import refuse_ungoverned_fields
from apps.governance.models import Proposal, ProposalQuerySet, Taint
from apps.governance.policy.policy_table import Act
from apps.governance.policy.risk_tiers import RiskFactor, RiskTier, tier_of
from apps.governance.proposals.actions import open_proposal
from apps.governance.proposals.approval_rules import ProposedChange, refuse_flaws
from apps.prompt.injection_scanner.review_findings import rules_to_confirm
from apps.skills.models import Skill
from apps.skills.skill_validation import file_findings, missing_file_findings, risk_factors_in
from apps.tenants.review_settings import review_terms


def submit_draft(skill: Skill, *, actor: Actor, evidence: Mapping[str, Any] | None = None) -> Proposal:
    """Submit a draft's current text for review. Reviewers approve exactly these bytes."""
    _refuse_quarantined_draft(skill, actor)
    texts = skill.texts
    change = ProposedChange(
        Proposal.Kind.SKILL_NEW,
        skill.agent_id,
        skill.content_sha256,
        texts,
        evidence=evidence or {},
        base_version=skill.version,
        risk=tier_of(risk_factors_in(texts.values(), skill.files)),
        taint=Taint(skill.taint),
    )
    return open_proposal(skill, actor=actor, act=Act.PROPOSAL_SUBMIT, change=change, terms=review_terms(actor))


def propose_revision(
    skill: Skill,
    *,
    actor: Actor,
    values: Mapping[str, str],
    rationale: str = "",
    evidence: Mapping[str, Any] | None = None,
    taint: Taint | None = None,
) -> Proposal:
    """Propose a revision of an approved skill. The live version does not change until a person approves the revision (Z-3)."""
    refuse_ungoverned_fields(Act.SKILL_PROPOSE, values)
    refuse_flaws(Skill, values)
    tier = tier_of(risk_factors_in({**skill.texts, **values}.values(), skill.files))
    change = _proposed_change(Proposal.Kind.SKILL_REVISION, skill, values, rationale, evidence, tier=tier, taint=taint)
    return open_proposal(skill, actor=actor, act=Act.SKILL_PROPOSE, change=change, terms=review_terms(actor))


def propose_deprecation(
    skill: Skill,
    *,
    actor: Actor,
    rationale: str,
    evidence: Mapping[str, Any] | None = None,
    taint: Taint | None = None,
) -> Proposal:
    """Propose to retire a skill (R020, Z-2)."""
    tier = tier_of({RiskFactor.RETIREMENT})
    change = _proposed_change(Proposal.Kind.SKILL_DEPRECATION, skill, {}, rationale, evidence, tier=tier, taint=taint)
    return open_proposal(skill, actor=actor, act=Act.SKILL_PROPOSE, change=change, terms=review_terms(actor))


def submission_of(skill: Skill, actor: Actor) -> Proposal | None:
    """Return the open proposal of a draft, if there is one, even if its time has run out."""
    return _submissions(skill, actor).unclosed().first()


def revision_of(skill: Skill, actor: Actor) -> Proposal | None:
    """Return the open proposal that a further revision by this actor would revise, if there is one."""
    mine = Proposal.objects.visible_to(actor).about(skill).filter(kind=Proposal.Kind.SKILL_REVISION)
    return mine.unclosed().first()


def _submissions(skill: Skill, actor: Actor) -> ProposalQuerySet:
    return Proposal.objects.visible_to(actor).about(skill).filter(kind=Proposal.Kind.SKILL_NEW)


def _proposed_change(
    kind: Proposal.Kind,
    skill: Skill,
    content: Mapping[str, str],
    rationale: str,
    evidence: Mapping[str, Any] | None,
    *,
    tier: RiskTier,
    taint: Taint | None = None,
) -> ProposedChange:
    return ProposedChange(
        kind,
        skill.agent_id,
        skill.content_sha256,
        content,
        rationale,
        evidence or {},
        base_version=skill.version,
        base_content=skill.texts,
        risk=tier,
        taint=taint,
    )


def refuse_quarantined(skill: Skill) -> None:
    """Refuse a decision on a quarantined skill."""
    if skill.is_quarantined:
        raise IllegalTransition(
            f"This skill is in quarantine ({skill.quarantine_reason}). Release it before you decide on it."
        )


def _refuse_quarantined_draft(skill: Skill, actor: Actor) -> None:
    refuse_quarantined(skill)
    with acting_as(actor):
        held = _submissions(skill, actor).filter(state=Proposal.State.QUARANTINED).first()
    if held is not None:
        raise NotPermitted(f"Proposal {held.pk} of this draft is in quarantine. A person has to release it first.")


def refuse_edited_proposal(proposal: Proposal, skill: Skill) -> None:
    """Refuse to approve a draft whose proposal would publish other words, because of a reviewer's edit or an outdated text."""
    if proposal.is_edited or proposal.base_sha256 != skill.content_sha256:
        raise ReviewedContentChanged(
            f"A reviewer changed the words of this draft in proposal {proposal.pk}, and those are what would go live."
            " Decide on the proposal.",
            proposal.version,
            proposal.content_sha256,
            proposal.words,
        )


def findings_in(skill: Skill) -> tuple[str, ...]:
    """Return the findings in a draft's words and files that a reviewer must confirm."""
    missing = missing_file_findings(skill.body, skill.files)
    return (*rules_to_confirm(skill.texts.values()), *findings_in_files(skill), *missing)


def findings_in_files(skill: Skill) -> tuple[str, ...]:
    """Return the findings in a draft's files that a reviewer must confirm."""
    return file_findings(skill.files)


@contextmanager
def refuse_if_referenced() -> Iterator[None]:
    """Raise `Conflict` if a send rule still refers to the skill. An agent that discards its draft cannot see send rules."""
    try:
        yield
    except IntegrityError as error:
        raise Conflict("A send rule names this skill. Remove that rule first, then discard the skill.") from error
