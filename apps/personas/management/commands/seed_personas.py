"""Creates the agents and personas that ship as templates."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import acting_as
from apps.governance.errors import GovernanceError
from apps.governance.policy.policy_table import Act
from apps.personas.actions import create_persona
from apps.personas.agent_creation import create_agent_with_persona
from apps.personas.models import Persona
from apps.personas.templates import PersonaTemplate, UnknownTemplate, find_template, persona_templates
from apps.prompt.memory_lines.write_holds import MemoryReview
from apps.tenants.actions import create_tenant
from apps.tenants.authentication.actor_resolution import new_tenant_actor, system_actor_of_tenant
from apps.tenants.models import Agent, Tenant


class Command(BaseCommand):
    """Creates missing rows and keeps existing ones, so that it may run again at any time (R010, R038, R132)."""

    acts = (
        Act.TENANT_CREATE,
        Act.AGENT_CREATE,
        Act.PERSONA_CREATE,
    )
    help = "Create the agents and personas that ship as templates. Existing agents and personas are kept."

    def add_arguments(self, parser: CommandParser) -> None:
        """The tenant and the templates."""
        parser.add_argument("--tenant", required=True, metavar="KEY", help="The tenant's key.")
        parser.add_argument(
            "--create-tenant", metavar="NAME", help="Create the tenant with this name if it is missing."
        )
        parser.add_argument(
            "--profiles-without-proof",
            action="store_true",
            help="With --create-tenant: use customer profiles without a signature. By default a signature is required.",
        )
        parser.add_argument("--only", nargs="+", metavar="KEY", default=[], help="Use these templates instead of all.")

    def handle(self, *args: Any, **options: Any) -> None:
        """Print one line for each row: created or kept."""
        try:
            templates = [find_template(key) for key in options["only"]] or persona_templates()
            actor = self._find_or_create_actor(
                options["tenant"], options["create_tenant"], needs_proof=not options["profiles_without_proof"]
            )
            for template in templates:
                self._seed(template, actor)
        except (UnknownTemplate, GovernanceError) as refusal:
            raise CommandError(str(refusal)) from refusal

    def _find_or_create_actor(self, key: str, name: str | None, *, needs_proof: bool) -> Actor:
        known = system_actor_of_tenant(key)
        if known:
            self._print_status("kept", f"tenant {key}")
            return known
        if not name:
            raise CommandError(
                f"There is no tenant “{key}”. Create it with: manage.py seed_personas --tenant {key} --create-tenant NAME"
            )
        actor = new_tenant_actor()
        create_tenant(key, name, actor=actor, is_customer_proof_required=needs_proof)
        self._print_status("created", f"tenant {key} (review of memory: {MemoryReview.TAINTED})")
        return actor

    def _seed(self, template: PersonaTemplate, actor: Actor) -> None:
        with acting_as(actor):
            business = Tenant.objects.get(pk=actor.tenant_id).name
            agent = Agent.objects.visible_to(actor).filter(key=template.key).first()
            has_persona = agent is not None and Persona.objects.visible_to(actor).filter(agent=agent).exists()
            if agent is None:
                create_agent_with_persona(template.key, template.title, template.sections(business), actor=actor)
            elif not has_persona:
                create_persona(agent.pk, actor=actor, values=template.sections(business))
        self._print_status("kept" if agent else "created", f"agent {template.key}")
        self._print_status("kept" if has_persona else "created", f"persona of {template.key}")

    def _print_status(self, done: str, what: str) -> None:
        self.stdout.write(f"{done:<8} {what}")
