"""How acts are tried on what runs a tenant: its agents, members, grants, tokens, switches, checkpoints."""

from collections.abc import Callable, Mapping

from apps.governance.actors import Role
from apps.governance.policy.policy_table import Act, default_grants
from apps.kill_switches.actions import activate_kill_switch, deactivate_kill_switch
from apps.kill_switches.models import KillSwitch
from apps.restore.actions import make_checkpoint
from apps.tenants.actions import (
    accept_membership,
    add_member,
    allow_invokable,
    amend_agent,
    amend_invokable,
    amend_settings,
    change_role,
    create_agent,
    create_tenant,
    deactivate_member,
    end_sessions,
    invite_member,
    issue_token,
    limit_member,
    reactivate_member,
    reset_member,
    revoke_token,
    rotate_token,
    unlimit_member,
    withdraw_grants,
    withdraw_invokable,
    withdraw_role_grants,
    write_grants,
    write_role_grants,
)
from apps.tenants.authentication.actor_resolution import new_tenant_actor
from apps.tenants.customer_verification import rotate_proof_key
from apps.tenants.models import Agent, AgentToken, InvokableAgent, Membership, TenantSettings
from apps.tenants.models.grants import AgentGrants, MemberLimit, RoleGrants
from tests.random_acts.act_choice import ActChoice, ActRunner, amend_row, write_parameter
from tests.support.worlds.world import make_user


def _create_tenant(chosen: ActChoice) -> object:
    actor = new_tenant_actor() if chosen.actor.role is Role.SYSTEM else chosen.actor
    return create_tenant(chosen.name, "Third", actor=actor)


def _add_member(act: Callable[..., object]) -> ActRunner:
    def deed(chosen: ActChoice) -> object:
        return act(make_user(f"{chosen.name}@people.example"), actor=chosen.actor, role=Role.OPERATOR)

    return deed


def _limit_member(chosen: ActChoice) -> object:
    row = chosen.row(Membership, role=Role.OPERATOR.value)
    limited = (Act.SKILL_APPROVE, Act.PERSONA_AMEND, Act.PROPOSAL_APPROVE)[chosen.pick % 3]
    known = chosen.there.rows(MemberLimit, member=row, limited_act=limited.value)
    fresh = MemberLimit(tenant_id=chosen.actor.tenant_id, member=row, limited_act=limited.value)
    return limit_member(known[0] if known else fresh, actor=chosen.actor, agents=[chosen.there.agents[0].pk])


def _grants(chosen: ActChoice) -> object:
    role = (Role.AGENT, Role.OPERATOR)[chosen.pick % 2]
    known = chosen.there.rows(AgentGrants, agent=chosen.agent, role=role.value)
    fresh = AgentGrants(tenant_id=chosen.actor.tenant_id, agent=chosen.agent, role=role.value)
    granted = sorted(default_grants(role))
    withheld = {granted[(chosen.pick * 5 + at) % len(granted)] for at in range(3)}
    return write_grants(known[0] if known else fresh, actor=chosen.actor, granted=set(granted) - withheld)


def _write_role_grants(chosen: ActChoice) -> object:
    role = (Role.AGENT, Role.OPERATOR)[chosen.pick % 2]
    known = chosen.there.rows(RoleGrants, role=role.value)
    fresh = RoleGrants(tenant_id=chosen.actor.tenant_id, role=role.value)
    granted = sorted(default_grants(role))
    kept = set(granted) - {granted[(chosen.pick * 7 + at) % len(granted)] for at in range(3)}
    return write_role_grants(known[0] if known else fresh, actor=chosen.actor, granted=kept, reason=chosen.words)


def _allow_invokable(chosen: ActChoice) -> object:
    asks, asked = chosen.there.agents[::-1] if chosen.pick % 2 else chosen.there.agents
    chosen.is_crossed |= chosen.there is not chosen.mine
    return allow_invokable(asks.pk, asked.pk, actor=chosen.actor, role_hint=chosen.words)


def _amend_settings(chosen: ActChoice) -> object:
    row = chosen.row(TenantSettings)
    terms = (
        {"high_risk_reviewers": 1 + chosen.pick % 3},
        {"max_open_proposals": 3 + chosen.pick},
        {"requests_per_minute": chosen.pick, "requests_per_minute_of_tenant": 100 * chosen.pick},
    )[chosen.pick % 3]
    return amend_settings(row, actor=chosen.actor, read_at=chosen.read_at(row), **terms)


def _set_proof_key(chosen: ActChoice) -> object:
    row = chosen.row(TenantSettings)
    key, kept = chosen.name * (chosen.pick % 9), chosen.pick % 2 == 0
    return rotate_proof_key(row, actor=chosen.actor, key=key, keep_former=kept, read_at=chosen.read_at(row))


def _amend_agent(chosen: ActChoice) -> object:
    row = chosen.row(Agent)
    changes = ({"contract": chosen.words}, {"title": chosen.name}, {"skill_index": "full"})[chosen.pick % 3]
    return amend_agent(row, actor=chosen.actor, read_at=chosen.read_at(row), **changes)


def _throw_switch(chosen: ActChoice) -> object:
    kinds = list(KillSwitch.Kind)
    agent_id = chosen.agent.pk if chosen.pick % 2 else None
    return activate_kill_switch(
        kinds[chosen.pick % 3],
        actor=chosen.actor,
        reason=chosen.words,
        agent_id=agent_id,
        ends_sessions=chosen.pick % 5 == 0,
    )


def _change_role(chosen: ActChoice) -> object:
    row = chosen.row(Membership)
    role = (Role.OPERATOR, Role.ADMIN)[chosen.pick % 2]
    return change_role(row, actor=chosen.actor, role=role, read_at=chosen.read_at(row))


TENANTS: Mapping[Act, ActRunner] = {
    Act.TENANT_CREATE: _create_tenant,
    Act.SETTINGS_AMEND: _amend_settings,
    Act.SETTINGS_ROTATE_PROOF_KEY: _set_proof_key,
    Act.AGENT_CREATE: lambda chosen: create_agent(chosen.name, chosen.name, actor=chosen.actor),
    Act.AGENT_AMEND: _amend_agent,
    Act.AGENT_END_SESSIONS: amend_row(Agent, end_sessions),
    Act.INVOKABLE_ALLOW: _allow_invokable,
    Act.INVOKABLE_AMEND: write_parameter(InvokableAgent, amend_invokable, "role_hint"),
    Act.INVOKABLE_WITHDRAW: amend_row(InvokableAgent, withdraw_invokable),
    Act.TOKEN_ISSUE: lambda chosen: issue_token(chosen.agent, actor=chosen.actor, name=chosen.name),
    Act.TOKEN_REVOKE: lambda chosen: revoke_token(chosen.row(AgentToken), actor=chosen.actor),
    Act.TOKEN_ROTATE: lambda chosen: rotate_token(chosen.row(AgentToken), actor=chosen.actor),
    Act.MEMBER_ADD: _add_member(add_member),
    Act.MEMBER_INVITE: _add_member(invite_member),
    Act.MEMBER_ACCEPT: lambda chosen: accept_membership(chosen.row(Membership), actor=chosen.actor),
    Act.MEMBER_DEACTIVATE: amend_row(Membership, deactivate_member),
    Act.MEMBER_REACTIVATE: amend_row(Membership, reactivate_member),
    Act.MEMBER_CHANGE_ROLE: _change_role,
    Act.MEMBER_RESET: amend_row(Membership, reset_member),
    Act.LIMIT_WRITE: _limit_member,
    Act.LIMIT_LIFT: amend_row(MemberLimit, unlimit_member),
    Act.ROLE_GRANT_WRITE: _write_role_grants,
    Act.ROLE_GRANT_WITHDRAW: write_parameter(RoleGrants, withdraw_role_grants, "reason"),
    Act.GRANT_WRITE: _grants,
    Act.GRANT_WITHDRAW: amend_row(AgentGrants, withdraw_grants),
    Act.KILL_SWITCH_ACTIVATE: _throw_switch,
    Act.KILL_SWITCH_DEACTIVATE: amend_row(KillSwitch, deactivate_kill_switch),
    Act.CHECKPOINT_CREATE: lambda chosen: make_checkpoint(chosen.words, actor=chosen.actor, agent_id=chosen.agent.pk),
}
