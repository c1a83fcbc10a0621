"""Lawful contradictions, and how each surface performs the acts on them."""

from collections.abc import Callable, Mapping
from itertools import count
from typing import Any

from django.utils import timezone

from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import acting_as
from apps.governance.policy.policy_table import Act
from apps.learning.contradictions.actions import (
    clear_contradiction,
    dismiss_contradiction,
    mark_contradiction_recurred,
    record_contradiction,
    reopen_contradiction,
)
from apps.learning.contradictions.models import Contradiction
from apps.learning.contradictions.rules import ContradictionPair, ContradictionSide
from apps.learning.contradictions.scan_runs import request_scan
from apps.runtime.tasks import look_for_contradictions
from tests.support.drivers.console_client import decision_of
from tests.support.worlds.world import World, make_rule

_numbers = count(1)
NEVER_RULE = "Never promise a delivery date."
PROMISE = "Promise a delivery date to every customer."
DISMISSAL_REASON = "The one is about parcels, the other about letters."


def find(world: World, actor: Actor | None = None, of: tuple[int, int] | None = None) -> Contradiction:
    """Make an open contradiction as a scan does: between a rule and a memory with these ids, or with ids of no rows."""
    number = next(_numbers)
    rule_id, memory_id = of or (number, number)
    one = ContradictionSide("rule", rule_id, f"rule {number}", f"Refunds take {number} days.")
    other = ContradictionSide("memory", memory_id, "the memory", f"Refunds take {number + 1} days.")
    return record_contradiction(
        world.agent.pk, actor=actor or world.system, pair=ContradictionPair("amount", "days", one, other)
    )


def make_contradiction(world: World, status: str = "open", of: tuple[int, int] | None = None) -> Contradiction:
    """Make a contradiction in the given state, by the acts that lead there."""
    row = find(world, of=of)
    if status == "dismissed":
        return dismiss_contradiction(row, actor=world.operator, reason=DISMISSAL_REASON)
    if status == "gone":
        return clear_contradiction(row, actor=world.system, last_seen_at=timezone.now())
    return row


def contradictions_of(world: World) -> list[Contradiction]:
    """Return the contradictions, oldest first."""
    with acting_as(world.operator):
        return list(Contradiction.objects.visible_to(world.operator).of_agent(world.agent.pk).order_by("id"))


def make_contradicting_rules(world: World) -> None:
    """Make two rules that cannot both be right."""
    make_rule(world, NEVER_RULE)
    make_rule(world, PROMISE)


def run_scan(world: World) -> None:
    """Run a scan as a worker does."""
    look_for_contradictions.run(world.tenant.pk, world.agent.pk)


def _find_by_worker(world: World) -> None:
    make_contradicting_rules(world)
    run_scan(world)


CONTRADICTION_SUBJECTS: Mapping[Act, Callable[[World], Any]] = {
    Act.CONTRADICTION_SCAN: make_contradiction,
    Act.CONTRADICTION_FIND: lambda world: world.agent,
    Act.CONTRADICTION_RECUR: lambda world: make_contradiction(world, "gone"),
    Act.CONTRADICTION_CLEAR: make_contradiction,
    Act.CONTRADICTION_DISMISS: make_contradiction,
    Act.CONTRADICTION_REOPEN: lambda world: make_contradiction(world, "dismissed"),
}
# Each takes the scene, the row and, for actions, the actor.
CONTRADICTION_ACTS: Mapping[Act, Callable[[Any, Any, Actor], object]] = {
    Act.CONTRADICTION_SCAN: lambda _, row, actor: request_scan(row.agent_id, actor=actor),
    Act.CONTRADICTION_FIND: lambda scene, _, actor: find(scene.world, actor),
    Act.CONTRADICTION_RECUR: lambda _, row, actor: mark_contradiction_recurred(row, actor=actor),
    Act.CONTRADICTION_CLEAR: lambda _, row, actor: clear_contradiction(row, actor=actor, last_seen_at=timezone.now()),
    Act.CONTRADICTION_DISMISS: lambda _, row, actor: dismiss_contradiction(row, actor=actor, reason=DISMISSAL_REASON),
    Act.CONTRADICTION_REOPEN: lambda _, row, actor: reopen_contradiction(row, actor=actor),
}
SCAN_ONLY_ACTS: Mapping[Act, str] = {
    Act.CONTRADICTION_FIND: "the nightly look finds contradictions; nobody asks for one",
    Act.CONTRADICTION_RECUR: "the nightly look sees that the same lines stand there again",
    Act.CONTRADICTION_CLEAR: "the nightly look sees that a line has changed",
}
CONTRADICTION_REQUESTS: Mapping[Act, Callable[[Any, Any], tuple[str, str, dict[str, object] | None]]] = {
    Act.CONTRADICTION_DISMISS: lambda _, row: (
        "POST",
        f"contradictions/{row.pk}/dismiss",
        {"reason": DISMISSAL_REASON},
    ),
    Act.CONTRADICTION_SCAN: lambda _, row: ("POST", f"contradictions/{row.pk}/scan", {}),
    Act.CONTRADICTION_REOPEN: lambda _, row: ("POST", f"contradictions/{row.pk}/reopen", {}),
}
CONTRADICTION_FORMS: Mapping[Act, Callable[[Any, Any], tuple[str, dict[str, Any]]]] = {
    Act.CONTRADICTION_DISMISS: lambda _, row: (decision_of(row, "dismiss"), {"reason": DISMISSAL_REASON}),
    Act.CONTRADICTION_SCAN: lambda _, row: (decision_of(row, "look"), {}),
    Act.CONTRADICTION_REOPEN: lambda _, row: (decision_of(row, "reopen"), {}),
}
CONTRADICTION_TASKS: Mapping[Act, Callable[[Any, Any], None]] = {
    Act.CONTRADICTION_FIND: lambda scene, _: _find_by_worker(scene.world),
    # Nothing of what these rows quote stands anywhere, or all of it does again.
    Act.CONTRADICTION_CLEAR: lambda scene, _: run_scan(scene.world),
}
