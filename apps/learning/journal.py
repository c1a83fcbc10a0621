"""The one writer of verdicts: one row per conversation, whoever comes second reads the first one's; and of runs of the digest."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from django.db import IntegrityError

from apps.conversations.models import Conversation
from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import acting
from apps.learning.extraction_models import Extraction
from apps.learning.used import used
from apps.llm.model_backend import Reply
from apps.skills.models import Skill


@dataclass(frozen=True, slots=True)
class Finding:
    """A verdict about to be written, with the model's answer it rests on, if one was asked."""

    verdict: Extraction.Verdict
    reason: str
    reply: Reply | None = None
    tool_names: tuple[str, ...] = ()
    masked_counts: Mapping[str, int] = field(default_factory=dict)


def conclude(conversation: Conversation, finding: Finding, *, actor: Actor) -> Extraction:
    """Write a verdict without a draft, or read the one another worker wrote meanwhile."""
    try:
        return write_verdict(conversation, finding, actor=actor, skill=None)
    except IntegrityError:
        return verdict_on(conversation, actor=actor)


def verdict_on(conversation: Conversation, *, actor: Actor) -> Extraction:
    """The verdict that stands."""
    with acting(actor):
        return Extraction.objects.get(conversation=conversation)


def write_verdict(conversation: Conversation, finding: Finding, *, actor: Actor, skill: Skill | None) -> Extraction:
    """Write the verdict; raises IntegrityError where there is one already."""
    with acting(actor):
        return Extraction.objects.create(
            tenant_id=actor.tenant_id,
            agent_id=conversation.agent_id,
            conversation=conversation,
            verdict=finding.verdict,
            reason=finding.reason,
            skill=skill,
            tool_names=list(finding.tool_names),
            masked_counts=dict(finding.masked_counts),
            **used(finding.reply, actor=actor),
        )
