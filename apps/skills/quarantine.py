"""Quarantine of skills: no agent may use a quarantined skill, whatever its status, until a person releases it."""

from django.utils import timezone

from apps.governance.actors import Actor
from apps.governance.errors import Conflict, refuse_blank
from apps.governance.governed_write import governed
from apps.governance.policy.policy_table import Act
from apps.skills.models import Skill


def quarantine_skill(skill: Skill, *, actor: Actor, reason: str, read_at: int | None = None) -> Skill:
    """Quarantine a skill in any status. Agents no longer find it, from their next lookup on."""
    with governed(Act.SKILL_QUARANTINE, skill, actor=actor, read_at=read_at, reason=reason) as row:
        refuse_blank(reason, "Give a reason for the quarantine. The person who releases the skill has to know it.")
        if row.is_quarantined:
            raise Conflict(f"This skill is in quarantine already: {row.quarantine_reason}")
        row.quarantined_at, row.quarantined_by, row.quarantine_reason = timezone.now(), actor.label, reason
    return skill


def release_skill(skill: Skill, *, actor: Actor, reason: str, read_at: int | None = None) -> Skill:
    """Release a skill from quarantine. It keeps its status."""
    with governed(Act.SKILL_RELEASE, skill, actor=actor, read_at=read_at, reason=reason) as row:
        refuse_blank(reason, "Give a reason for the release.")
        if not row.is_quarantined:
            raise Conflict("This skill is not in quarantine.")
        row.quarantined_at, row.quarantined_by, row.quarantine_reason = None, "", ""
    return skill
