"""Lawful test data: every row is made by the product's own acts."""

from dataclasses import dataclass
from itertools import count

from apps.conversations.actions import append_messages, open_conversation, receive_message
from apps.conversations.models import Conversation, InboundEvent
from apps.conversations.rules import Line, ToolCall
from apps.governance.actors import Actor, Role
from apps.memory.actions import create_memory, create_profile
from apps.memory.models import AgentMemory, CustomerProfile
from apps.personas.actions import create_persona
from apps.personas.models import Persona
from apps.skills.actions import approve_skill, deprecate_skill, draft_skill
from apps.skills.models import Skill
from apps.tenants.actions import add_member, create_agent, create_tenant, issue_token
from apps.tenants.identity import agent_actor, new_tenant_actor, person_actor
from apps.tenants.models import Agent, Tenant, User

_numbers = count(1)

PASSWORD = "correct horse battery staple"


@dataclass(frozen=True)
class World:
    """One tenant with an agent, its token, an operator and an admin, each as the actor they become."""

    tenant: Tenant
    agent: Agent
    token: str
    operator_user: User
    admin_user: User
    system: Actor
    operator: Actor
    admin: Actor
    bot: Actor


def make_world(key: str = "", agent_key: str = "support") -> World:
    """A tenant that differs from every other made before."""
    key = key or f"tenant-{next(_numbers)}"
    system = new_tenant_actor()
    people = [make_user(f"{role}@{key}.example") for role in ("operator", "admin")]
    tenant = create_tenant(key, key.title(), actor=system)
    for user, role in zip(people, (Role.OPERATOR, Role.ADMIN), strict=True):
        add_member(user, actor=system, role=role)
    agent = create_agent(agent_key, agent_key.title(), actor=system)
    token = issue_token(agent, actor=system, name="test").secret
    return World(
        tenant=tenant,
        agent=agent,
        token=token,
        operator_user=people[0],
        admin_user=people[1],
        system=system,
        operator=person_actor(people[0].pk, tenant.pk, Role.OPERATOR),
        admin=person_actor(people[1].pk, tenant.pk, Role.ADMIN),
        bot=agent_actor(tenant.pk, agent.pk, agent.service_user_id, agent.key),
    )


def make_user(username: str) -> User:
    """A person who can sign in with PASSWORD; people are made before any tenant is chosen."""
    return User.objects.create_user(username=username, email=username, password=PASSWORD, is_staff=True)


def make_persona(world: World, **values: str) -> Persona:
    """An active persona by the operator."""
    given = {
        "identity": "You are Ada, the support agent for Acme.",
        "style": "Warm and concise.",
        "avoid": "Never promise refund dates.",
        "defaults": "Assume the customer is on the Pro plan.",
    }
    return create_persona(world.agent.pk, actor=world.operator, values=given | values)


def make_skill(world: World, status: str = "draft", actor: Actor | None = None, **values: str) -> Skill:
    """A skill in the state asked for, reached by the acts that lead there."""
    given = {
        "title": f"Issue a refund {next(_numbers)}",
        "description": "How to issue a refund within policy.",
        "body": "## When to Use\nA customer wants money back.\n\n## Procedure\n1. Note how they wish to be reached.\n",
    }
    skill = draft_skill(world.agent.pk, actor=actor or world.bot, values=given | values)
    if status in {"approved", "deprecated"}:
        approve_skill(skill, actor=world.operator, reviewed_sha256=skill.content_sha256)
    if status == "deprecated":
        deprecate_skill(skill, actor=world.operator)
    return skill


def make_memory(world: World, body: str = "Most customers are in the EU.") -> AgentMemory:
    """The agent's memory, written by itself."""
    return create_memory(world.agent.pk, actor=world.bot, body=body)


def make_profile(world: World, end_user_key: str = "http:abc123", **values: str) -> CustomerProfile:
    """A customer's profile, written by the agent."""
    return create_profile(end_user_key, actor=world.bot, values={"preferences": "Prefers email."} | values)


def make_event(world: World, text: str = "Hello, can I get a refund?", **given: str) -> InboundEvent:
    """A message that waits for a turn."""
    values = {"channel": "http", "conversation_key": f"thread-{next(_numbers)}", "end_user_key": "http:abc123"} | given
    key = values.pop("idempotency_key", f"key-{next(_numbers)}")
    return receive_message(world.agent.pk, actor=world.bot, text=text, idempotency_key=key, **values)


def make_conversation(world: World, end_user_key: str = "http:abc123") -> Conversation:
    """An open conversation with a transcript of four messages and a tool call."""
    conversation = open_conversation(
        world.agent.pk,
        actor=world.bot,
        channel="http",
        conversation_key=f"thread-{next(_numbers)}",
        end_user_key=end_user_key,
    )
    call = ToolCall("call-1", "update_customer_profile", {"preferences": "Prefers email."}, "Saved.")
    lines = [
        Line("customer", "My parcel arrived broken. I prefer email."),
        Line("agent", "", (call,)),
        Line("agent", "I am sorry about that. I have noted that you prefer email."),
        Line("customer", "Thank you, that solved it."),
    ]
    append_messages(conversation, lines, actor=world.system)
    return conversation
