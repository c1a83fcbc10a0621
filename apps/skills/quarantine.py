"""Skills that a person keeps from everybody they serve, whatever their status, until a person gives them back."""

from django.utils import timezone

from apps.governance.actors import Actor
from apps.governance.errors import Conflict, refuse_blank
from apps.governance.governed_write import governed
from apps.governance.policy.policy_table import Act
from apps.skills.models import Skill


def quarantine_skill(skill: Skill, *, actor: Actor, reason: str, read_at: int | None = None) -> Skill:
    """Keep a skill from everybody it serves, whatever its status: agents do not find it from their next look-up on."""
    with governed(Act.SKILL_QUARANTINE, skill, actor=actor, read_at=read_at, reason=reason) as row:
        refuse_blank(reason, "Say why nobody may use it; whoever releases it has to know.")
        if row.is_quarantined:
            raise Conflict(f"This skill is in quarantine already: {row.quarantine_reason}")
        row.quarantined_at, row.quarantined_by, row.quarantine_reason = timezone.now(), actor.label, reason
    return skill


def release_skill(skill: Skill, *, actor: Actor, reason: str, read_at: int | None = None) -> Skill:
    """Give a skill back to whom it serves, in the status it had."""
    with governed(Act.SKILL_RELEASE, skill, actor=actor, read_at=read_at, reason=reason) as row:
        refuse_blank(reason, "Say why it may be used again.")
        if not row.is_quarantined:
            raise Conflict("This skill is not in quarantine.")
        row.quarantined_at, row.quarantined_by, row.quarantine_reason = None, "", ""
    return skill
