"""Quarantine of skills: no agent may use a quarantined skill, whatever its status, until a person releases it."""

from apps.governance.actors import Actor
from apps.governance.governed_write import governed
from apps.governance.policy.policy_table import Act
from apps.governance.quarantine import put_in_quarantine, release_from_quarantine
from apps.skills.models import Skill


def quarantine_skill(skill: Skill, *, actor: Actor, reason: str, read_at: int | None = None) -> Skill:
    """Quarantine a skill in any status. Agents no longer find it, from their next lookup on."""
    with governed(Act.SKILL_QUARANTINE, skill, actor=actor, read_at=read_at, reason=reason) as row:
        put_in_quarantine(row, actor, reason)
    return skill


def release_skill(skill: Skill, *, actor: Actor, reason: str, read_at: int | None = None) -> Skill:
    """Release a skill from quarantine. It keeps its status."""
    with governed(Act.SKILL_RELEASE, skill, actor=actor, read_at=read_at, reason=reason) as row:
        release_from_quarantine(row, reason)
    return skill
