"""Proposals for bulk decisions, and the people who decide."""

from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import acting_as
from apps.governance.models import Proposal
from apps.review.bulk.eligibility import Verb
from apps.review.bulk.journal import begin_bulk
from apps.review.models import BulkDecision, BulkItem
from apps.review.tasks import decide_bulk
from tests.support.worlds.world import World, make_skill


def make_drafts(world: World, count: int) -> list[Proposal]:
    """Make so many new skills that wait for approval, each proposed by the agent."""
    return [waiting_draft(world) for _ in range(count)]


def waiting_draft(world: World, **values: str) -> Proposal:
    """Make a draft, and return the proposal by which it waits."""
    draft = make_skill(world, "draft", world.bot, **values)
    with acting_as(world.operator):
        return Proposal.objects.visible_to(world.operator).about(draft).select_related("agent").get()


def begin_bulk_decision(
    world: World, proposals: list[Proposal], verb: Verb = Verb.APPROVE, actor: Actor | None = None
) -> BulkDecision:
    """Begin a person's decision on all of them, in their present versions."""
    read = {proposal.pk: proposal.version for proposal in proposals}
    reason = {"reason": "Asked for twice.", "reason_code": "duplicate"} if verb is Verb.REJECT else {}
    return begin_bulk(verb, read, actor=actor or world.operator, **reason)


def items_of(world: World, bulk: BulkDecision) -> list[BulkItem]:
    """Return all items, in the order they were chosen."""
    with acting_as(world.operator):
        return list(BulkItem.objects.filter(decision=bulk))


def item_states(world: World, bulk: BulkDecision) -> list[str]:
    """Return the state of each item, in order."""
    return [item.state for item in items_of(world, bulk)]


def reload_proposal(world: World, proposal: Proposal) -> Proposal:
    """Return the proposal in its present state."""
    with acting_as(world.operator):
        return Proposal.objects.visible_to(world.operator).select_related("agent").get(pk=proposal.pk)


def states(world: World, proposals: list[Proposal]) -> list[str]:
    """Return the present state of each."""
    return [str(reload_proposal(world, proposal).state) for proposal in proposals]


def run_bulk_worker(world: World, bulk: BulkDecision) -> list[str]:
    """Let a worker decide on all items; return the refusal of each."""
    decide_bulk.run(world.tenant.pk, bulk.pk)
    return [item.refusal for item in items_of(world, bulk)]
