"""Restores a row, an agent or a tenant to an earlier state by writing new versions."""

from typing import Any

from django.apps import apps
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import acting_as
from apps.governance.errors import GovernanceError
from apps.governance.models import Governed
from apps.governance.policy.policy_table import Act
from apps.restore.execution import carry_out_restore
from apps.restore.models import Checkpoint
from apps.restore.plan import MomentTarget, RestorePlan, RowTarget, Target, make_restore_plan
from apps.tenants.management.command_arguments import command_actor, get_agent
from apps.tenants.models import Agent
from apps.tenants.tenant_clock import parse_moment, zone_of


class Command(BaseCommand):
    """The command. Without --apply it prints the plan and changes nothing."""

    # Runs only on behalf of the member named with --as.
    acts_of_members = (
        Act.AGENT_AMEND,
        Act.BLOCK_WRITE,
        Act.IDENTITY_CARD_WRITE,
        Act.INVOKABLE_ALLOW,
        Act.INVOKABLE_AMEND,
        Act.INVOKABLE_WITHDRAW,
        Act.LEARNING_VERSION_RESTORE,
        Act.LEARNING_VERSION_RETIRE,
        Act.MEMORY_AMEND,
        Act.OVERLAY_WRITE,
        Act.PERSONA_ACTIVATE,
        Act.PERSONA_AMEND,
        Act.PERSONA_ARCHIVE,
        Act.PROFILE_AMEND,
        Act.RULE_AMEND,
        Act.RULE_RESTORE,
        Act.RULE_RETIRE,
        Act.SCHEDULE_AMEND,
        Act.SCHEDULE_PAUSE,
        Act.SCHEDULE_RESUME,
        Act.SETTINGS_AMEND,
        Act.SKILL_AMEND,
        Act.SKILL_ARRANGE,
        Act.SKILL_ATTACH,
        Act.SKILL_DEPRECATE,
        Act.SKILL_DETACH,
        Act.SKILL_DRAFT,
        Act.SKILL_REDRAFT,
        Act.SKILL_REVISE,
        Act.CHECKPOINT_CREATE,
    )
    help = "Print what a restore would change; with --apply, restore. Open sessions keep the prompt they started with."

    def add_arguments(self, parser: CommandParser) -> None:
        """Add the arguments: the target, the moment or version, and the acting member."""
        parser.add_argument("--tenant", required=True, metavar="KEY", help="The tenant's key.")
        what = parser.add_mutually_exclusive_group(required=True)
        what.add_argument("--agent", metavar="KEY", help="One agent and all rows that belong to it.")
        what.add_argument("--row", metavar="NOUN:ID", help="One row, such as skills.skill:12; with --to-version.")
        what.add_argument("--all", action="store_true", help="The whole tenant: its settings, all agents, its rules.")
        when = parser.add_mutually_exclusive_group(required=True)
        when.add_argument(
            "--at", metavar="TIME", help="A moment, in the tenant's time zone unless it has a UTC offset."
        )
        when.add_argument("--checkpoint", type=int, metavar="ID", help="The moment of a checkpoint.")
        when.add_argument("--to-version", type=int, metavar="N", help="With --row: the version to restore.")
        parser.add_argument("--as", dest="username", required=True, metavar="USERNAME", help="The member who acts.")
        parser.add_argument("--with-profiles", action="store_true", help="With --all: include customers' profiles.")
        parser.add_argument("--apply", action="store_true", help="Carry out the plan.")

    def handle(self, *args: Any, **options: Any) -> None:
        """Print the plan; with --apply, carry out exactly the printed plan or nothing."""
        actor = command_actor(options["tenant"], options["username"])
        try:
            target = _target(options, actor)
            shown = make_restore_plan(target, actor=actor)
            self._print_plan(shown)
            if options["apply"]:
                _, checkpoint = carry_out_restore(target, actor=actor, shown_sha256=shown.sha256)
                self.stdout.write(f"Done: {len(shown.steps)} acts.")
                if checkpoint:
                    self.stdout.write(f"The earlier state is checkpoint {checkpoint.pk}.")
        except GovernanceError as refusal:
            raise CommandError(str(refusal)) from refusal

    def _print_plan(self, shown: RestorePlan) -> None:
        self.stdout.write(
            f"{shown.target.said}: {len(shown.steps)} acts, {len(shown.notes)} things are left unchanged."
        )
        for step in shown.steps:
            self.stdout.write(f"  {step.act.value:<20} {step.label}: {step.description}")
        for note in shown.notes:
            self.stdout.write(f"  unchanged            {note.label}: {note.description}")
        for right in shown.missing_permissions:
            self.stdout.write(f"  missing permission   {right}")


def _target(options: dict[str, Any], actor: Actor) -> Target:
    if (options["row"] is None) != (options["to_version"] is None):
        raise CommandError("Use --row and --to-version together: --row skills.skill:12 --to-version 3.")
    if options["with_profiles"] and not options["all"]:
        raise CommandError(
            "Use --with-profiles only with --all: customers' profiles belong to the tenant, not to one agent."
        )
    if options["row"] is not None:
        return _row_target(options["row"], options["to_version"])
    agent = get_agent(options["agent"], actor=actor) if options["agent"] else None
    if options["checkpoint"] is not None:
        return _checkpoint_target(options["checkpoint"], agent, actor, with_profiles=options["with_profiles"])
    moment = parse_moment(options["at"], zone_of(actor), timezone.now())
    return MomentTarget(moment, agent, options["with_profiles"])


def _checkpoint_target(checkpoint_id: int, agent: Agent | None, actor: Actor, *, with_profiles: bool) -> Target:
    with acting_as(actor):
        checkpoint = Checkpoint.objects.visible_to(actor).filter(pk=checkpoint_id).first()
    if checkpoint is None:
        raise CommandError(f"The tenant has no checkpoint {checkpoint_id}.")
    if checkpoint.agent_id is not None and (agent is None or agent.pk != checkpoint.agent_id):
        raise CommandError(f"Checkpoint {checkpoint_id} is of one agent. Name that agent with --agent.")
    return MomentTarget(checkpoint.moment, agent, with_profiles)


def _row_target(row_argument: str, version: int) -> RowTarget:
    kind, _, number = row_argument.partition(":")
    try:
        model = apps.get_model(kind)
    except (LookupError, ValueError):
        model = None
    if model is None or not issubclass(model, Governed) or not number.isascii() or not number.isdigit():
        raise CommandError(f"--row {row_argument}: name a governed model and an id, such as skills.skill:12.")
    return RowTarget(model, int(number[:18]), version)
