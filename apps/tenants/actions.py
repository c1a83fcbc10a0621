"""Actions on tenants, members, agents and their tokens."""

import secrets
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.core.exceptions import ValidationError
from django.db import IntegrityError
from django.utils import timezone

from apps.governance.actors import Actor, Role
from apps.governance.database.actor_transaction import acting_as
from apps.governance.errors import Conflict, Invalid, NotPermitted, refuse_blank
from apps.governance.governed_write import (
    assign_values,
    governed,
    governed_create,
    governed_remove,
    invalid_from_validation,
)
from apps.governance.policy.policy_table import Act
from apps.prompt.memory_lines.write_holds import MemoryReview
from apps.tenants.agent_flavours import refuse_assistant
from apps.tenants.authentication.actor_resolution import token_digest
from apps.tenants.grants.guardian_sync import sync_agent_grants, sync_member_limit, sync_role_grants
from apps.tenants.models import Agent, AgentToken, InvokableAgent, Membership, Tenant, TenantSettings, User, slug_rule
from apps.tenants.models.grants import NO_GRANT_LEFT, AgentGrants, MemberLimit, RoleGrants
from apps.tenants.models.tenant import VISIT_MINUTES, StaffAccess
from apps.tenants.request_rate_limits import refuse_higher_rate_limit
from apps.tenants.sealed_secrets import refuse_without_keys


@dataclass(frozen=True, slots=True)
class IssuedToken:
    """A token with its secret, which can be shown only when the token is issued."""

    row: AgentToken
    secret: str


def create_tenant(
    key: str,
    name: str,
    *,
    actor: Actor,
    timezone_name: str = "UTC",
    memory_review: MemoryReview = MemoryReview.TAINTED,
    is_customer_proof_required: bool = True,
) -> Tenant:
    """Create a tenant. `actor` must come from `new_tenant_actor`."""
    tenant = Tenant(pk=actor.tenant_id, key=key, name=name)
    settings = TenantSettings(
        tenant_id=actor.tenant_id,
        timezone=timezone_name,
        memory_review=memory_review.value,
        is_customer_proof_required=is_customer_proof_required,
    )
    try:
        tenant.clean_fields()
        with acting_as(actor), governed(Act.TENANT_CREATE, settings, actor=actor):
            tenant.save(force_insert=True)
    except ValidationError as refusal:
        raise invalid_from_validation(refusal) from refusal
    except IntegrityError as refusal:
        raise Conflict(f"A tenant with the key {key} exists already. Choose another key.") from refusal
    return tenant


def amend_settings(
    settings: TenantSettings, *, actor: Actor, read_at: int | None = None, **values: object
) -> TenantSettings:
    """Change settings that apply to all agents of the tenant. Open sessions keep the prompt they started with."""
    with governed(Act.SETTINGS_AMEND, settings, actor=actor, read_at=read_at) as row:
        refuse_higher_rate_limit(row, values)
        assign_values(row, Act.SETTINGS_AMEND, values)
        if row.is_second_factor_required and "is_second_factor_required" in values:
            refuse_without_keys()
    return settings


def add_member(user: User, *, actor: Actor, role: Role) -> Membership:
    """Add a person to the tenant."""
    membership = Membership(tenant_id=actor.tenant_id, user=user, role=role.value)
    return governed_create(Act.MEMBER_ADD, membership, actor=actor)


def invite_member(user: User, *, actor: Actor, role: Role) -> Membership:
    """Invite a person whom an admin named by e-mail address."""
    membership = Membership(tenant_id=actor.tenant_id, user=user, role=role.value)
    with governed(Act.MEMBER_INVITE, membership, actor=actor) as row:
        _refuse_own_membership(row, actor)
    return membership


def accept_membership(membership: Membership, *, actor: Actor) -> Membership:
    """Accept an invitation as the invited person.

    `tenants.accounts.invitations.accept_invitation` decides who may act as that person.
    """
    with governed(Act.MEMBER_ACCEPT, membership, actor=actor) as row:
        if row.user_id != actor.user_id:
            raise NotPermitted("This invitation is for another person, who must accept it with their own link.")
        if not (row.is_active and row.awaits_its_person):
            raise Conflict(
                "This invitation was accepted or withdrawn already. Ask an admin of the tenant for another link."
            )
        row.accepted_at = timezone.now()
    return membership


def deactivate_member(
    membership: Membership, *, actor: Actor, read_at: int | None = None, reason: str = ""
) -> Membership:
    """Deactivate a member; this takes effect with the member's next request.

    The last active admin cannot be deactivated, and nobody can deactivate themselves.
    """
    with governed(Act.MEMBER_DEACTIVATE, membership, actor=actor, read_at=read_at, reason=reason) as row:
        _refuse_own_membership(row, actor)
        row.is_active = False
    return membership


def reactivate_member(membership: Membership, *, actor: Actor, read_at: int | None = None) -> Membership:
    """Reactivate a member, with the previous role and limits."""
    with governed(Act.MEMBER_REACTIVATE, membership, actor=actor, read_at=read_at) as row:
        row.is_active = True
    return membership


def change_role(
    membership: Membership, *, actor: Actor, role: Role, read_at: int | None = None, reason: str = ""
) -> Membership:
    """Change a member's role; this takes effect with the member's next request."""
    with governed(Act.MEMBER_CHANGE_ROLE, membership, actor=actor, read_at=read_at, reason=reason) as row:
        _refuse_own_membership(row, actor)
        row.role = role.value
    return membership


def reset_member(membership: Membership, *, actor: Actor, read_at: int | None = None, reason: str = "") -> Membership:
    """Record that a member's sign-in was reset. `tenants.accounts.people.reset_sign_in` performs the reset."""
    with governed(Act.MEMBER_RESET, membership, actor=actor, read_at=read_at, reason=reason) as row:
        row.reset_at = timezone.now()
    return membership


def limit_member(
    limit: MemberLimit, *, actor: Actor, agents: Collection[int], read_at: int | None = None
) -> MemberLimit:
    """Limit a member's act to these agents; this takes effect with the next request. A limit never adds permissions."""
    with acting_as(actor):
        wanted = sorted(set(agents))
        if Agent.objects.visible_to(actor).filter(pk__in=wanted).count() < len(wanted):
            raise Invalid("There is no such agent. Choose agents of this tenant.", {"agent_ids": ["No such agent."]})
        with governed(Act.LIMIT_WRITE, limit, actor=actor, read_at=read_at) as row:
            row.agent_ids = wanted
        sync_member_limit(limit)
    return limit


def unlimit_member(limit: MemberLimit, *, actor: Actor, read_at: int | None = None, reason: str = "") -> None:
    """Remove a limit, so that the member may perform the act wherever their role permits it."""
    governed_remove(Act.LIMIT_LIFT, limit, actor=actor, read_at=read_at, reason=reason)


def write_role_grants(
    grants: RoleGrants, *, actor: Actor, granted: Collection[str], reason: str, read_at: int | None = None
) -> RoleGrants:
    """Replace a role's template by these permissions in the tenant; this takes effect with the next request."""
    with acting_as(actor):
        with governed(Act.ROLE_GRANT_WRITE, grants, actor=actor, read_at=read_at, reason=reason) as row:
            refuse_blank(reason, "Give a reason for the change of the role's grants. It stays in the history.")
            if not granted:
                raise Invalid(NO_GRANT_LEFT, {"permissions": [NO_GRANT_LEFT]})
            row.permissions = sorted(set(granted))
        sync_role_grants(grants, grants.permissions)
    return grants


def withdraw_role_grants(grants: RoleGrants, *, actor: Actor, reason: str, read_at: int | None = None) -> None:
    """Remove a role's own permissions in the tenant, so that its template applies again."""
    with acting_as(actor):
        with governed(Act.ROLE_GRANT_WITHDRAW, grants, actor=actor, read_at=read_at, reason=reason, removes=True):
            refuse_blank(reason, "Give a reason for the return to the template. It stays in the history.")
        sync_role_grants(grants, ())


def write_grants(
    grants: AgentGrants, *, actor: Actor, granted: Collection[str], read_at: int | None = None
) -> AgentGrants:
    """Replace a role's permissions on the rows of one agent."""
    with acting_as(actor):
        with governed(Act.GRANT_WRITE, grants, actor=actor, read_at=read_at) as row:
            row.permissions = sorted(set(granted))
        sync_agent_grants(grants)
    return grants


def withdraw_grants(grants: AgentGrants, *, actor: Actor, read_at: int | None = None, reason: str = "") -> None:
    """Remove a role's own permissions on one agent, so that its other permissions apply there again."""
    governed_remove(Act.GRANT_WITHDRAW, grants, actor=actor, read_at=read_at, reason=reason)


def create_agent(key: str, title: str, *, actor: Actor, has_learning: bool = True) -> Agent:
    """Create an agent and its service user, which can never sign in and can only have the role `agent`."""
    _validate_key(key)
    user = User(username=f"agent:{actor.tenant_id}:{key}", is_service=True)
    user.set_unusable_password()
    agent = Agent(tenant_id=actor.tenant_id, key=key, title=title, service_user=user, has_learning=has_learning)
    try:
        with governed(Act.AGENT_CREATE, agent, actor=actor):
            user.save(force_insert=True)
            agent.service_user = user
    except IntegrityError as refusal:
        raise Conflict(f"An agent with the key {key} exists in the tenant already. Choose another key.") from refusal
    return agent


def amend_agent(agent: Agent, *, actor: Actor, read_at: int | None = None, **values: object) -> Agent:
    """Change how an agent runs. Open sessions keep the settings they started with."""
    with governed(Act.AGENT_AMEND, agent, actor=actor, read_at=read_at) as row:
        assign_values(row, Act.AGENT_AMEND, values)
    return agent


def end_sessions(agent: Agent, *, actor: Actor, reason: str = "", read_at: int | None = None) -> Agent:
    """End the open sessions of an agent: the next turn of each conversation freezes a new prompt from the current rows.

    A turn that has begun goes on with its prompt.
    """
    with governed(Act.AGENT_END_SESSIONS, agent, actor=actor, read_at=read_at, reason=reason) as row:
        row.sessions_ended_at = timezone.now()
    return agent


def allow_invokable(
    agent_id: int, callee_id: int, *, actor: Actor, role_hint: str = "", budget_micro_usd: int | None = None
) -> InvokableAgent:
    """Allow an agent to ask another agent of the tenant. The agent's next session lists the other agent."""
    for each, field in ((agent_id, "agent"), (callee_id, "callee")):
        refuse_assistant(each, actor=actor, field=field)
    invokable = InvokableAgent(
        tenant_id=actor.tenant_id,
        agent_id=agent_id,
        callee_id=callee_id,
        role_hint=role_hint,
        budget_micro_usd=budget_micro_usd,
    )
    return governed_create(Act.INVOKABLE_ALLOW, invokable, actor=actor)


def amend_invokable(
    invokable: InvokableAgent, *, actor: Actor, read_at: int | None = None, **values: object
) -> InvokableAgent:
    """Change what the other agent is asked for and the highest cost of an answer, from the next question on."""
    with governed(Act.INVOKABLE_AMEND, invokable, actor=actor, read_at=read_at) as row:
        assign_values(row, Act.INVOKABLE_AMEND, values)
    return invokable


def withdraw_invokable(
    invokable: InvokableAgent, *, actor: Actor, read_at: int | None = None, reason: str = ""
) -> None:
    """Withdraw an agent's permission to ask another agent. Open sessions still list the other agent."""
    governed_remove(Act.INVOKABLE_WITHDRAW, invokable, actor=actor, read_at=read_at, reason=reason)


def enter_tenant(reason: str, *, actor: Actor) -> StaffAccess:
    """Give a member of the platform staff access to the tenant for `VISIT_MINUTES`.

    The visit and its reason stay in the tenant's audit log.
    """
    refuse_blank(reason, "Give a reason. The tenant reads it in its audit log.")
    until = timezone.now() + timedelta(minutes=VISIT_MINUTES)
    visit = StaffAccess(tenant_id=actor.tenant_id, user_id=actor.user_id or 0, reason=reason, expires_at=until)
    return governed_create(Act.TENANT_ENTER, visit, actor=actor, reason=reason)


def leave_tenant(visit: StaffAccess, *, actor: Actor) -> StaffAccess:
    """End a visit before it expires."""
    with governed(Act.TENANT_LEAVE, visit, actor=actor) as row:
        if row.user_id != actor.user_id:
            raise NotPermitted("This is another person's visit, which only they can end. It ends by itself.")
        row.ended_at = row.ended_at or timezone.now()
    return visit


def issue_token(agent: Agent, *, actor: Actor, name: str, valid_days: int | None = 90) -> IssuedToken:
    """Issue a token and return its secret, once.

    Several tokens may be valid at a time, so that clients can switch without a gap.
    """
    prefix = secrets.token_hex(4)
    secret = f"pcp_{prefix}_{secrets.token_urlsafe(32)}"
    token = AgentToken(
        tenant_id=agent.tenant_id,
        agent=agent,
        name=name,
        prefix=f"pcp_{prefix}",
        digest=token_digest(secret),
        expires_at=_days_from_now(valid_days),
    )
    governed_create(Act.TOKEN_ISSUE, token, actor=actor)
    return IssuedToken(token, secret)


def rotate_token(token: AgentToken, *, actor: Actor, grace_hours: int = 24) -> IssuedToken:
    """Issue a new token. The old one stays valid for `grace_hours`, so that clients can switch to the new one."""
    with acting_as(actor):
        with governed(Act.TOKEN_ROTATE, token, actor=actor) as row:
            if row.revoked_at is not None:
                raise Conflict("This token is revoked. Issue a new one instead.")
            ends = timezone.now() + timedelta(hours=grace_hours)
            row.expires_at = min(row.expires_at or ends, ends)
        return issue_token(token.agent, actor=actor, name=token.name)


def revoke_token(token: AgentToken, *, actor: Actor) -> AgentToken:
    """Revoke a token; this takes effect with the next request."""
    with governed(Act.TOKEN_REVOKE, token, actor=actor) as row:
        row.revoked_at = row.revoked_at or timezone.now()
    return token


def _refuse_own_membership(membership: Membership, actor: Actor) -> None:
    if membership.user_id == actor.user_id:
        raise Conflict("You cannot change your own membership. Ask another admin of the tenant.")


def _validate_key(key: str) -> None:
    # The service user is named after the key and is created before the agent's own validation, so the key is checked first.
    try:
        slug_rule(key)
    except ValidationError as refusal:
        raise Invalid(f"This key is not valid. {' '.join(refusal.messages)}", {"key": refusal.messages}) from refusal


def _days_from_now(days: int | None) -> datetime | None:
    return timezone.now() + timedelta(days=days) if days else None
