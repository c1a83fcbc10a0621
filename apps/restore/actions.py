"""The only governed write of this package: creating a checkpoint."""

from datetime import datetime

from django.utils import timezone

from apps.governance.actors import Actor
from apps.governance.errors import Invalid
from apps.governance.governed_write import governed_create
from apps.governance.policy.policy_table import Act
from apps.restore.models import Checkpoint


def make_checkpoint(
    name: str, *, actor: Actor, agent_id: int | None = None, moment: datetime | None = None, reason: str = ""
) -> Checkpoint:
    """Create a checkpoint: a named moment of an agent, or of the tenant if `agent_id` is None. The default moment is now."""
    now = timezone.now()
    if moment is not None and moment > now:
        sentence = "A checkpoint names a moment in the past. Leave the moment out to name the present one."
        raise Invalid(sentence, {"moment": [sentence]})
    checkpoint = Checkpoint(
        tenant_id=actor.tenant_id,
        agent_id=agent_id,
        name=name,
        moment=moment or now,
        reason=reason,
        created_by=actor.label,
    )
    return governed_create(Act.CHECKPOINT_CREATE, checkpoint, actor=actor)
