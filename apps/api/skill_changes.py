"""What a body asks of a skill, by the state it is in and by who asks."""

from collections.abc import Mapping

from rest_framework.exceptions import ValidationError

from apps.api.bodies import Sent
from apps.api.moves import refuse_unreachable
from apps.governance.actors import Actor
from apps.governance.errors import Conflicting, NotPermitted
from apps.governance.governed_write import may
from apps.governance.models import Proposal, Taint
from apps.governance.policy.table import Act
from apps.runtime.taint_attribution import heard_by, whose_words
from apps.skills.actions import amend_skill, approve_skill, deprecate_skill, revise_skill
from apps.skills.models import TEXTS, Skill
from apps.skills.proposals import propose_revision


def change_skill(skill: Skill, sent: Sent, *, actor: Actor) -> Proposal | None:
    """What a body asks for, by the state the skill is in; a proposal if a person has to agree first."""
    texts = sent.only(*TEXTS)
    reason = sent.reason
    if texts and skill.status == Skill.Status.DEPRECATED:
        raise Conflicting("A deprecated skill stays as it is. Draft a fresh one.")
    if texts and skill.status == Skill.Status.DRAFT:
        taint = whose(texts, actor)
        amend_skill(skill, actor=actor, values=texts, read_at=sent.read_at, reason=reason, taint=taint)
    elif texts and not may(actor, Act.SKILL_REVISE, row=skill):
        return propose_revision(skill, actor=actor, values=texts, taint=whose(texts, actor))
    elif texts:
        revise_skill(skill, actor=actor, values=texts, read_at=sent.read_at, reason=reason)
    if sent.values.get("status", skill.status) != skill.status:
        move_skill(skill, sent.values["status"], sent, actor=actor, read_at=None if texts else sent.read_at)
    return None


def whose(texts: Mapping[str, str], actor: Actor) -> Taint:
    """Whose words the texts are, by what the actor has heard."""
    return whose_words("\n".join(texts.values()), heard_by(actor))


def move_skill(skill: Skill, to: str, sent: Sent, *, actor: Actor, read_at: int | None) -> None:
    """Approve or deprecate, as the body names it."""
    refuse_unreachable(skill, "status", to)
    reason = sent.reason
    if to == Skill.Status.DEPRECATED:
        deprecate_skill(skill, actor=actor, read_at=read_at, reason=reason)
        return
    reviewed = sent.values.get("reviewed_sha256")
    if reviewed is None:
        raise ValidationError({"reviewed_sha256": ["Say which text you reviewed: send the content_sha256 you read."]})
    said = {"reviewed_sha256": reviewed, "reason": reason, **sent.only("confirm_findings")}
    approve_skill(skill, actor=actor, read_at=read_at, **said)


def refuse_discarding(skill: Skill, actor: Actor) -> None:
    """Only a draft is discarded."""
    if skill.status == Skill.Status.DRAFT:
        return
    if not actor.is_person:
        raise NotPermitted(
            f"This skill is {skill.status}: an agent may not remove it. Ask an operator to deprecate it."
        )
    raise Conflicting(f"This skill is {skill.status}; only a draft is discarded. Deprecate it, and its history stays.")
