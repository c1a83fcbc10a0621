"""Lawful test data: every row is made by the product's own acts."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any, cast

from django.utils import timezone

from apps.conversations.actions import append_messages, open_conversation, receive_message
from apps.conversations.models import Conversation, InboundEvent
from apps.conversations.rules import ConversationLine, ToolCall
from apps.governance.actors import Actor, Role
from apps.governance.database.actor_transaction import acting_as
from apps.governance.policy.policy_table import Act, default_grants
from apps.kill_switches.actions import activate_kill_switch
from apps.kill_switches.models import KillSwitch
from apps.memory.actions import create_block, create_memory, create_profile
from apps.memory.models import AgentMemory, CustomerProfile, MemoryBlock
from apps.personas.actions import add_rule, create_identity_card, create_overlay, create_persona
from apps.personas.models import IdentityCard, Persona, PersonaOverlay, StandingRule
from apps.prompt.memory_lines.write_holds import MemoryReview
from apps.prompt.text_reuse.derived_lines import NO_RECEIVED_TEXTS
from apps.review.skill_actions import approve_skill
from apps.skills.actions import deprecate_skill, draft_skill
from apps.skills.attachment_upload import upload_file
from apps.skills.models import Skill
from apps.tenants.actions import (
    add_member,
    allow_invokable,
    amend_settings,
    create_agent,
    create_tenant,
    enter_tenant,
    issue_token,
    limit_member,
    write_grants,
    write_role_grants,
)
from apps.tenants.authentication.actor_resolution import agent_actor, new_tenant_actor, person_actor, staff_actor
from apps.tenants.models import Agent, InvokableAgent, Membership, StaffAccess, Tenant, TenantSettings, User
from apps.tenants.models.grants import AgentGrants, MemberLimit, RoleGrants
from tests.support.database.committed_worlds import COMMITTED_WORLDS

_numbers = count(1)

PASSWORD = "correct horse battery staple"


@dataclass(frozen=True)
class World:
    """One tenant with an agent, its token, an operator and an admin, each with their actor."""

    tenant: Tenant
    agent: Agent
    token: str
    operator_user: User
    admin_user: User
    system: Actor
    operator: Actor
    admin: Actor
    bot: Actor


def make_world(key: str = "", agent_key: str = "support", memory_review: MemoryReview = MemoryReview.OFF) -> World:
    """Make a tenant that differs from all others. Its agents' memory needs no review unless a test is about that."""
    usual = (key, agent_key, memory_review) == ("", "support", MemoryReview.OFF)
    if usual and (world := COMMITTED_WORLDS.lend()):
        return cast(World, world)
    key = key or f"tenant-{next(_numbers)}"
    system = new_tenant_actor()
    people = [make_user(f"{role}@{key}.example") for role in ("operator", "admin")]
    tenant = create_tenant(
        key, key.title(), actor=system, memory_review=memory_review, is_customer_proof_required=False
    )
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


def raise_message_limits(world: World) -> World:
    """Raise the limits of a customer's messages to the maximum, for tests with a thousand of them."""
    with acting_as(world.admin):
        settings = TenantSettings.objects.visible_to(world.admin).get()
    amend_settings(settings, actor=world.admin, messages_per_minute=10_000, messages_per_day=100_000)
    return world


def make_user(username: str) -> User:
    """Make a person with a proven address who can sign in with PASSWORD; people are made before any tenant is chosen."""
    return User.objects.create_user(
        username=username, email=username, password=PASSWORD, is_staff=True, email_verified_at=timezone.now()
    )


def make_staff(username: str = "") -> User:
    """Make a person of the platform staff, as `createsuperuser` does: a member of no tenant."""
    username = username or f"staff-{next(_numbers)}@platform.example"
    return User.objects.create_superuser(username=username, email=username, password=PASSWORD)


def make_visit(world: World, user: User) -> StaffAccess:
    """Make an open visit of platform staff in the world's tenant."""
    return enter_tenant("A ticket of theirs.", actor=staff_actor(user.pk, world.tenant.pk))


def make_persona(world: World, **values: str) -> Persona:
    """Make an active persona, by the operator."""
    given = {
        "identity": "You are Ada, the support agent for Acme.",
        "style": "Warm and concise.",
        "avoid": "Never promise refund dates.",
        "defaults": "Assume the customer is on the Pro plan.",
        "goals": "Settle the matter in one conversation.",
    }
    return create_persona(world.agent.pk, actor=world.operator, values=given | values)


def make_overlay(world: World, text: str = "Be a little more formal with banks.") -> PersonaOverlay:
    """Make the operator's overlay of the persona."""
    return create_overlay(world.agent.pk, actor=world.operator, text=text)


def make_identity_card(world: World, **values: str) -> IdentityCard:
    """Make the agent's identity card; with a `line_key`, the card of that line."""
    given = {
        "business_name": "Acme",
        "assigned_name": "Grace Hopper",
        "assigned_title": "Head of support",
        "hours": "Monday to Friday, 9:00 to 18:00",
        "timezone": "Europe/Madrid",
        "signature": "Grace, Acme",
        "locale": "en-GB",
    }
    return create_identity_card(world.agent.pk, actor=world.operator, values=given | values)


def make_rule(
    world: World, text: str = "Never name a competitor.", *, of_agent: bool = True, position: int = 0
) -> StandingRule:
    """Make an active rule of the agent, or of the whole organisation."""
    agent_id = world.agent.pk if of_agent else None
    return add_rule(agent_id, actor=world.operator, text=text, position=position)


def make_skill(world: World, status: str = "draft", actor: Actor | None = None, **values: str) -> Skill:
    """Make a skill in the given state, by the acts that lead there."""
    given = {
        "title": f"Issue a refund {next(_numbers)}",
        "description": "How to issue a refund within policy.",
        "body": "## When to Use\nA customer wants money back.\n\n## Procedure\n1. Note how they wish to be reached.\n",
    }
    skill = draft_skill(world.agent.pk, actor=actor or world.bot, values=given | values)
    if status in {"approved", "deprecated"}:
        approve_read_skill(skill, world.operator)
    if status == "deprecated":
        deprecate_skill(skill, actor=world.operator)
    return skill


def make_skill_with_file(
    world: World, status: str = "draft", name: str = "prices.csv", content: bytes = b"Plan,Price\nPro,20\n"
) -> Skill:
    """Make a skill whose text refers to its file."""
    skill = make_skill(world, body=f"## Procedure\n1. Look the price up in {name}.\n")
    upload_file(skill, actor=world.bot, name=name, content=content)
    if status == "approved":
        approve_read_skill(skill, world.operator)
    return skill


def approve_read_skill(skill: Skill, actor: Actor) -> Skill:
    """Approve a draft whose findings and files the reviewer has read."""
    sha256 = skill.content_sha256
    approve_skill(skill, actor=actor, reviewed_sha256=sha256, confirm_findings=True, reason="Opened and read.")
    return skill


def make_memory(world: World, body: str = "Most customers are in the EU.") -> AgentMemory:
    """Make the agent's memory, written by the agent."""
    return create_memory(world.agent.pk, actor=world.bot, body=body, heard=NO_RECEIVED_TEXTS)


def make_switch(world: World) -> KillSwitch:
    """Make one kind of kill switch, for the agent alone."""
    return activate_kill_switch(
        KillSwitch.Kind.PAUSE_AGENT, actor=world.operator, reason="Rest.", agent_id=world.agent.pk
    )


def make_block(world: World, label: str = "BusinessFacts", **values: object) -> MemoryBlock:
    """Make a block of the agent's memory, by the operator."""
    given = {"label": label, "body": "We ship to the EU only.", "is_pinned": True}
    return create_block(world.agent.pk, actor=world.operator, values=given | values)


def make_neighbour(world: World, key: str = "billing") -> Agent:
    """Make another agent of the tenant."""
    return create_agent(key, key.title(), actor=world.admin)


def make_invokable(world: World, key: str = "billing", role_hint: str = "Knows every invoice.") -> InvokableAgent:
    """Make a neighbour that the agent may ask."""
    return allow_invokable(world.agent.pk, make_neighbour(world, key).pk, actor=world.operator, role_hint=role_hint)


def make_limit(world: World, act: Act = Act.SKILL_APPROVE, agents: Sequence[int] = ()) -> MemberLimit:
    """Limit the operator in one act to these agents."""
    limit = MemberLimit(tenant_id=world.tenant.pk, member=member_of(world, world.operator_user), limited_act=act.value)
    return limit_member(limit, actor=world.admin, agents=agents)


def make_grants(world: World, *withheld: str, role: Role = Role.AGENT) -> AgentGrants:
    """Make the grants of the role for the world's agent: the usual ones without these."""
    grants = AgentGrants(tenant_id=world.tenant.pk, agent=world.agent, role=role.value)
    return write_grants(grants, actor=world.admin, granted=default_grants(role) - set(withheld))


def make_role_grants(world: World, *withheld: str, role: Role = Role.OPERATOR) -> RoleGrants:
    """Make the grants of the role in the world's tenant: those of its template without these."""
    grants = RoleGrants(tenant_id=world.tenant.pk, role=role.value)
    granted = default_grants(role) - set(withheld)
    return write_role_grants(grants, actor=world.admin, granted=granted, reason="Settled at the review.")


def make_member(world: World, name: str = "third", role: Role = Role.OPERATOR) -> Membership:
    """Make one more person of the tenant."""
    return add_member(make_user(f"{name}@{world.tenant.key}.example"), actor=world.admin, role=role)


def member_of(world: World, user: User) -> Membership:
    """Return a person's membership of the world's tenant."""
    with acting_as(world.admin):
        return Membership.objects.visible_to(world.admin).get(user=user)


def make_profile(world: World, end_user_key: str = "http:abc123", **values: str) -> CustomerProfile:
    """Make a customer's profile, written by the agent."""
    return create_profile(end_user_key, actor=world.bot, values={"preferences": "Prefers email."} | values)


def make_event(
    world: World, text: str = "Hello, can I get a refund?", off_the_record: bool | None = None, **given: str
) -> InboundEvent:
    """Make a message that waits for a turn."""
    values: dict[str, Any] = {
        "channel": "http",
        "conversation_key": f"thread-{next(_numbers)}",
        "end_user_key": "http:abc123",
    } | given
    key = values.pop("idempotency_key", f"key-{next(_numbers)}")
    return receive_message(
        world.agent.pk, actor=world.bot, text=text, idempotency_key=key, off_the_record=off_the_record, **values
    )


def make_conversation(world: World, end_user_key: str = "http:abc123", *, off_the_record: bool = False) -> Conversation:
    """Make an open conversation with a transcript of four messages and a tool call."""
    conversation = open_conversation(
        world.agent.pk,
        actor=world.bot,
        channel="http",
        conversation_key=f"thread-{next(_numbers)}",
        end_user_key=end_user_key,
        off_the_record=off_the_record,
    )
    call = ToolCall("call-1", "update_customer_profile", {"preferences": "Prefers email."}, "Saved.")
    lines = [
        ConversationLine("customer", "My parcel arrived broken. I prefer email."),
        ConversationLine("agent", "", (call,)),
        ConversationLine("agent", "I am sorry about that. I have noted that you prefer email."),
        ConversationLine("customer", "Thank you, that solved it."),
    ]
    append_messages(conversation, lines, actor=world.system)
    return conversation
