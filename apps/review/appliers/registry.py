"""The registry of appliers, by kind of proposal and target. A kind without an applier cannot be decided on, and fails a test."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import cast

from apps.governance.actors import Actor
from apps.governance.errors import NotVisible
from apps.governance.models import Governed, Proposal
from apps.governance.models.base import GovernedQuerySet
from apps.governance.policy.policy_table import Act
from apps.review.appliers import memory, personas, skills
from apps.review.appliers.base import Applier, Target

APPLIERS: Mapping[tuple[Proposal.Kind, str], Applier] = MappingProxyType(
    {**memory.APPLIERS, **personas.APPLIERS, **skills.APPLIERS}
)

Kind = Proposal.Kind
# The act that would make the same change directly. A reviewer who approves needs the grant for it, on the rows of that agent.
ACT_OF: Mapping[Proposal.Kind, Act] = MappingProxyType(
    {
        Kind.PERSONA_PATCH: Act.PERSONA_AMEND,
        Kind.PERSONA_FIELDS: Act.PERSONA_AMEND,
        Kind.SKILL_NEW: Act.SKILL_APPROVE,
        Kind.SKILL_REVISION: Act.SKILL_REVISE,
        Kind.SKILL_DEPRECATION: Act.SKILL_DEPRECATE,
        Kind.MEMORY_LINES: Act.MEMORY_AMEND,
        Kind.MEMORY_BODY: Act.MEMORY_AMEND,
        Kind.BLOCK_LINES: Act.BLOCK_AMEND,
        Kind.BLOCK_BODY: Act.BLOCK_AMEND,
        Kind.PROFILE_CHANGE: Act.PROFILE_AMEND,
        Kind.RULE_LINES: Act.RULE_ADD,
        Kind.RULE_CHANGE: Act.RULE_AMEND,
    }
)


def applier_of(proposal: Proposal) -> Applier:
    """Return the applier for the proposal's kind and target."""
    return APPLIERS[Proposal.Kind(proposal.kind), proposal.target_type]


def target_of(proposal: Proposal, actor: Actor, *, held: bool = False) -> Target | None:
    """Return the row that the proposal would change, or None if it no longer exists. `held` locks the row until the commit."""
    rows = cast("GovernedQuerySet[Governed]", applier_of(proposal).model._default_manager.all()).visible_to(actor)
    if held:
        rows = rows.select_for_update(no_key=True, of=("self",))
    return rows.filter(pk=proposal.target_id).first()


def lock_target(proposal: Proposal, actor: Actor) -> Target:
    """Return the row that the proposal would change, locked until the commit. Raises `NotVisible` if it no longer exists."""
    target = target_of(proposal, actor, held=True)
    if target is None:
        raise NotVisible(
            f"The target of this proposal ({proposal.target_label}) no longer exists. Reject the proposal."
        )
    return target
