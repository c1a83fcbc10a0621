"""Two tenants with two agents each, those who act for them, and words that tell afterwards who wrote them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from apps.conversations.models import Conversation
from apps.governance.actors import PEOPLE, Actor, Role
from apps.governance.database.actor_transaction import acting_as
from apps.memory.actions import create_memory
from apps.personas.actions import add_rule, create_persona, propose_rules, propose_sections
from apps.prompt.text_reuse.derived_lines import NO_RECEIVED_TEXTS
from apps.skills.models import Skill
from apps.tenants.authentication.actor_resolution import agent_actor, memberships_of, person_actor
from apps.tenants.models import Agent, User
from tests.support.worlds.world import (
    World,
    make_block,
    make_conversation,
    make_identity_card,
    make_invokable,
    make_member,
    make_memory,
    make_overlay,
    make_persona,
    make_profile,
    make_rule,
    make_skill,
    make_skill_with_file,
    make_world,
)

CUSTOMERS = ("http:ann", "http:bob")
# Who may come; the first is what a counterexample is shrunk to.
ACTOR_NAMES = ("operator", "second operator", "admin", "agent", "second agent", "worker")


class NoRowForAct(Exception):
    """The tenant has no row of the kind the act is about, or nobody is there who could act."""


@dataclass
class ActingTenant:
    """One tenant: its agents, and its people by what they are called here."""

    world: World
    agents: tuple[Agent, Agent]
    people: Mapping[str, User]
    numbers: Iterator[int] = field(default_factory=count)

    @property
    def tenant_id(self) -> int:
        """Whose side it is."""
        return self.world.tenant.pk

    def actor(self, who: str) -> Actor:
        """Them as they stand now: with today's role, grants and limits, or nobody at all."""
        if who == "worker":
            return self.world.system
        if who in {"agent", "second agent"}:
            agent = self.agents[who != "agent"]
            return agent_actor(self.tenant_id, agent.pk, agent.service_user_id, agent.key)
        user = self.people[who]
        role = dict(memberships_of(user.pk)).get(self.tenant_id)
        if role is None:
            raise NoRowForAct(who)
        return person_actor(user.pk, self.tenant_id, role)

    def words(self, who: Actor) -> str:
        """Words that nobody wrote before, known again by their number wherever they turn up."""
        return f"Note w{self.tenant_id}x{next(self.numbers)} of {who.role.value}."

    def rows(self, model: Any, **equal: object) -> list[Any]:  # Any: a governed model with its rows
        """What the tenant has, oldest first; read as a person, whoever acts."""
        with acting_as(self.world.operator):
            return list(model.objects.visible_to(self.world.operator).filter(**equal).order_by("pk"))


def make_two_tenants() -> tuple[ActingTenant, ActingTenant]:
    """Both sides, alike, each with something of every noun."""
    return _make_tenant(), _make_tenant()


def _make_tenant() -> ActingTenant:
    world = make_world()
    people = {"operator": world.operator_user, "admin": world.admin_user}
    people["second operator"] = make_member(world, "second").user
    callee_id = make_invokable(world).callee_id
    side = ActingTenant(world, (world.agent, _load_agent(world, callee_id)), people)
    _fill_tenant(side)
    return side


def _load_agent(world: World, agent_id: int) -> Agent:
    with acting_as(world.operator):
        return Agent.objects.visible_to(world.operator).get(pk=agent_id)


def _fill_tenant(side: ActingTenant) -> None:
    world, person = side.world, side.world.operator
    persona = make_persona(world, identity=side.words(person), style=side.words(person), avoid=side.words(person))
    make_overlay(world, side.words(person))
    make_identity_card(world, signature=side.words(person))
    make_rule(world, side.words(person))
    make_rule(world, side.words(person), of_agent=False)
    for status in ("approved", "draft"):
        make_skill(world, status, title=side.words(world.bot), description=side.words(world.bot))
    make_skill_with_file(world)
    make_memory(world, side.words(world.bot))
    make_block(world, body=side.words(person))
    make_profile(world, CUSTOMERS[0], preferences=side.words(world.bot))
    propose_sections(persona, actor=world.bot, values={"style": side.words(world.bot)})
    propose_rules(world.agent, actor=world.bot, lines=[side.words(world.bot)])
    for customer in CUSTOMERS:
        make_conversation(world, customer)
    _fill_second_agent(side)


def _fill_second_agent(side: ActingTenant) -> None:
    agent, second, person = side.agents[1], side.actor("second agent"), side.world.operator
    create_persona(agent.pk, actor=person, values={"identity": side.words(person)})
    create_memory(agent.pk, actor=second, body=side.words(second), heard=NO_RECEIVED_TEXTS)
    add_rule(agent.pk, actor=person, text=side.words(person))


def open_conversations(side: ActingTenant) -> list[Conversation]:
    """Where a customer may be answered."""
    return side.rows(Conversation, status=Conversation.Status.OPEN)


def approved_skills(side: ActingTenant) -> list[Skill]:
    """What agents may fetch."""
    return side.rows(Skill, status=Skill.Status.APPROVED)


def is_person(role: str) -> bool:
    """Whether a record's role is one of people."""
    return role in {each.value for each in PEOPLE}


SYSTEM = Role.SYSTEM.value
