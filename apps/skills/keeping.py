"""Keeping a skill that was suggested for retirement: a person says why, and is not asked again for a while."""

from django.utils import timezone

from apps.governance.actors import Actor
from apps.governance.errors import Conflicting, refuse_blank
from apps.governance.governed_write import governed
from apps.governance.policy.table import Act
from apps.skills.curating import KEPT
from apps.skills.models import Skill


def keep_skill(skill: Skill, *, actor: Actor, reason: str, read_at: int | None = None) -> Skill:
    """Let an approved skill stay, for `KEPT` without being asked again. The reason stands in its history."""
    with governed(Act.SKILL_RETAIN, skill, actor=actor, read_at=read_at, reason=reason) as row:
        refuse_blank(reason, "Say why it stays; whoever asks next time reads it.")
        if row.status != Skill.Status.APPROVED:
            raise Conflicting(f"This skill is {row.status}; only an approved one is kept or retired.")
        row.retained_until = timezone.now() + KEPT
    return skill
