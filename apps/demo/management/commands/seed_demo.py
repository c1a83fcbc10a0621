"""Creates the rows the demo needs before it starts; safe to run before every start."""

import json
import secrets
from typing import Any

from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from apps.console.accounts.login_links import login_link_path
from apps.demo.demo_data import (
    AGENT,
    ASSISTANT,
    ASSISTANT_IDENTITY,
    ASSISTANT_TITLE,
    BUSINESS,
    OPERATOR,
    REVIEWER,
    TENANT,
)
from apps.demo.example_prices import set_example_prices
from apps.governance.actors import Actor, Role
from apps.governance.database.actor_transaction import acting_as
from apps.governance.errors import GovernanceError
from apps.personas.agent_creation import create_agent_with_persona
from apps.prompt.prompt_input import Flavour
from apps.tenants.actions import add_member, amend_agent, issue_token, revoke_token
from apps.tenants.authentication.actor_resolution import person_actor, system_actor_of_tenant
from apps.tenants.models import Agent, AgentToken, Membership, User

TOKEN_NAME = "demo"  # noqa: S105  # a name, no secret
TOKEN_DAYS = 1


class Command(BaseCommand):
    """The command. The first run creates a password and prints it once; later runs print a one-time login link."""

    help = "Create the demo tenant, its agents, people and a new token. Existing rows are kept."

    def add_arguments(self, parser: CommandParser) -> None:
        """Add the arguments: output for people or for the launcher, and example prices."""
        parser.add_argument("--json", action="store_true", help="Print one JSON object instead of lines.")
        parser.add_argument(
            "--example-prices",
            action="store_true",
            help="Set example prices for the agents' models where the tenant has none, so that calls of the stand-in have a cost.",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Create the rows, and print the usernames, credentials and token."""
        try:
            # The customers of the story come from no server that could sign their identity.
            call_command(
                "seed_personas",
                tenant=TENANT,
                create_tenant=BUSINESS,
                profiles_without_proof=True,
                stdout=self.stderr,
            )
            made = self._make_people_and_token(with_prices=options["example_prices"])
        except GovernanceError as refusal:
            raise CommandError(str(refusal)) from refusal
        if options["json"]:
            self.stdout.write(json.dumps(made))
            return
        for name, value in made.items():
            self.stdout.write(f"{name.replace('_', ' '):<18} {value or '-'}")

    def _make_people_and_token(self, *, with_prices: bool) -> dict[str, str | None]:
        system = system_actor_of_tenant(TENANT)
        if system is None:
            raise CommandError(f"The tenant {TENANT} was just created and is gone again. Run the command once more.")
        operator, password = _get_or_create_person(OPERATOR)
        reviewer, _ = _get_or_create_person(REVIEWER)
        _add_membership(operator, system, Role.ADMIN)
        _add_membership(reviewer, system, Role.OPERATOR)
        admin = person_actor(operator.pk, system.tenant_id, Role.ADMIN)
        _make_assistant(system, admin)
        if with_prices:
            set_example_prices(admin)
        return {
            "operator_login": operator.username,
            "operator_password": password,
            "login_link_path": None if password else login_link_path(operator),
            "token": _issue_fresh_token(system),
            "tenant": TENANT,
            "agent": AGENT,
        }


def _get_or_create_person(username: str) -> tuple[User, str | None]:
    """Return the person with this username, who can sign in, and the password if it was just created."""
    known = User.objects.filter(username=username).first()
    if known:
        return known, None
    password = secrets.token_urlsafe(12)
    user = User.objects.create_user(
        username=username, email=username, password=password, is_staff=True, email_verified_at=timezone.now()
    )
    return user, password


def _add_membership(user: User, system: Actor, role: Role) -> None:
    with acting_as(system):
        # A deactivated person stays deactivated, because that is an admin's decision.
        known = Membership.objects.visible_to(system).filter(user=user).exists()
    if not known:
        add_member(user, actor=system, role=role)


def _make_assistant(system: Actor, admin: Actor) -> None:
    """Create the assistant for members to talk to. An existing one is kept as people have changed it."""
    with acting_as(system):
        known = Agent.objects.visible_to(system).filter(key=ASSISTANT).exists()
    if known:
        return
    agent = create_agent_with_persona(ASSISTANT, ASSISTANT_TITLE, {"identity": ASSISTANT_IDENTITY}, actor=system)
    amend_agent(agent, actor=admin, flavour=Flavour.ASSISTANT.value)


def _issue_fresh_token(system: Actor) -> str:
    """Return a new token for this run; tokens of earlier runs are revoked."""
    with acting_as(system):
        agent = Agent.objects.visible_to(system).get(key=AGENT)
        earlier = AgentToken.objects.visible_to(system).filter(agent=agent, name=TOKEN_NAME, revoked_at=None)
        for token in earlier:
            revoke_token(token, actor=system)
        return issue_token(agent, actor=system, name=TOKEN_NAME, valid_days=TOKEN_DAYS).secret
