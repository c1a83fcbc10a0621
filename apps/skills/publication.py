"""Publishing an approved draft to customers, and undoing it. `apps.review` calls both as part of a decision on its proposal."""

from django.utils import timezone

from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import acting_as
from apps.governance.governed_write import assign_values, governed
from apps.governance.models import Proposal, Taint
from apps.governance.policy.policy_table import Act
from apps.skills.models import Skill


def publish_skill(skill: Skill, *, actor: Actor, proposal: Proposal) -> Skill:
    """Publish a draft in the words that enough reviewers approved. The caller closes the proposal."""
    with acting_as(actor):
        if proposal.is_edited:
            with governed(Act.SKILL_AMEND, skill, actor=actor, evidence=proposal.authorship) as row:
                assign_values(row, Act.SKILL_AMEND, proposal.words)
        with governed(Act.SKILL_APPROVE, skill, actor=actor) as row:
            row.approve()
            row.taint = Taint.joined(row.taint, proposal.taint)
            sign_approval(row, actor)
    return skill


def unpublish_skill(skill: Skill, *, actor: Actor, proposal: Proposal) -> Skill:
    """Turn a published skill back into its draft. The database allows this only within a minute."""
    with acting_as(actor):
        with governed(Act.SKILL_UNDO, skill, actor=actor, evidence=proposal.authorship) as row:
            row.take_back()
            row.approved_sha256, row.approved_by, row.approved_at = "", "", None
        if proposal.is_edited:
            with governed(Act.SKILL_AMEND, skill, actor=actor, evidence=proposal.authorship) as row:
                assign_values(row, Act.SKILL_AMEND, proposal.content)
    return skill


def sign_approval(row: Skill, actor: Actor) -> None:
    """Sign the skill's current content as the acting person."""
    row.approved_sha256 = row.sha256
    row.approved_by = actor.label
    row.approved_at = timezone.now()
