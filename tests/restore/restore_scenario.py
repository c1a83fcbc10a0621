"""What tests of restoring share: a full agent, its prompt then and now, and a plan carried out as shown."""

from datetime import datetime

from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import acting_as
from apps.governance.models import Governed
from apps.prompt.rendering.snapshot import render_snapshot
from apps.restore.execution import carry_out_restore
from apps.restore.models import Checkpoint
from apps.restore.plan import MomentTarget, RestorePlan, Target, make_restore_plan
from apps.runtime.prompt_snapshot.preview import preview_prompt_input
from apps.runtime.prompt_snapshot.prompt_input_builder import read_prompt_input_at
from apps.tenants.models import Agent
from tests.support.worlds.world import (
    World,
    make_block,
    make_identity_card,
    make_invokable,
    make_memory,
    make_overlay,
    make_persona,
    make_profile,
    make_rule,
    make_skill,
)

CUSTOMER = "http:abc123"


def make_prompt_rows(world: World) -> None:
    """A row of everything a prompt is made from."""
    make_persona(world)
    make_overlay(world)
    make_identity_card(world)
    make_rule(world, "Never ask for a card number.")
    make_rule(world, "Never name a competitor.", of_agent=False)
    make_skill(world, "approved", title="Issue a refund")
    make_memory(world, "Lunch is at noon.")
    make_block(world)
    make_invokable(world)
    make_profile(world, CUSTOMER)


def current_prompt(world: World, agent: Agent | None = None) -> str:
    """Slots 1-5 of the session that opens next."""
    with acting_as(world.system):
        fresh = Agent.objects.get(pk=(agent or world.agent).pk)
    return render_snapshot(preview_prompt_input(fresh, CUSTOMER, system=world.system)).text


def past_prompt(world: World, moment: datetime) -> str:
    """Slots 1-5 of a session that had opened at a moment."""
    return render_snapshot(read_prompt_input_at(world.agent, CUSTOMER, moment, system=world.system)).text


def restore_target(target: Target, actor: Actor) -> tuple[RestorePlan, Checkpoint | None]:
    """Look at the plan and say yes to it."""
    return carry_out_restore(target, actor=actor, shown_sha256=make_restore_plan(target, actor=actor).sha256)


def agent_target(world: World, moment: datetime) -> MomentTarget:
    """The world's agent at a moment."""
    with acting_as(world.system):
        return MomentTarget(moment, Agent.objects.get(pk=world.agent.pk))


def get_only_row(world: World, model: type[Governed], **equal: object) -> Governed:
    """The one row of a noun."""
    with acting_as(world.system):
        row: Governed = model._default_manager.get(**equal)
    return row


def plan_lines(found: RestorePlan) -> list[str]:
    """The plan as its lines read."""
    return [f"{step.act.value} {step.label}: {step.description}" for step in found.steps]
