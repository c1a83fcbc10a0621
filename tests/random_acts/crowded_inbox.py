"""Hermes's scenario: four agents ask for much, alike and over and over, while people change what they ask about."""

import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from django.db import connection

from apps.governance.actors import Actor, Role
from apps.governance.database.actor_transaction import acting_as
from apps.governance.errors import GovernanceError
from apps.governance.models import Governed, Proposal
from apps.governance.proposals.actions import reject_proposal
from apps.personas.actions import (
    add_rule,
    amend_persona,
    amend_rule,
    create_persona,
    propose_patch,
    propose_rule_change,
    propose_rules,
    propose_sections,
)
from apps.personas.models import Persona, StandingRule
from apps.review.decisions import expire
from apps.skills.actions import draft_skill, revise_skill
from apps.skills.models import Skill
from apps.skills.proposals import propose_deprecation, propose_revision, submission_of
from apps.tenants.actions import amend_settings
from apps.tenants.authentication.actor_resolution import agent_actor, person_actor
from apps.tenants.due_work import due_work
from apps.tenants.models import Agent, TenantSettings
from tests.support.worlds.world import World, make_member, make_neighbour, make_skill, make_world

AGENTS = 4
# A thousand are asked for over twenty-five skills of each agent, fewer over fewer.
PROPOSALS_PER_SKILL = 40
SKILLS_AT_LEAST = 5
# And so many of an agent's may wait at a time, or fewer where fewer are asked for.
PROPOSALS_PER_CAP = 33
CAP_AT_LEAST = 7
SHARED_RULES = 8
SIMILAR_SHARE = 0.4
# Of what is asked about, so much is changed by a person afterwards; rules to come and drafts have nothing to be stale over.
LATER_CHANGE_SHARE = 0.5
DECISION_DELAY = 15
# The whole of it takes so many days, and a proposal waits for thirty.
DAYS, WAITS = 60, 30
SWEEPS = 10
NEW_SKILL = "draft"
KINDS = ("revision", "deprecation", "fields", "patch", "rules", "rules of all", "rule of all", NEW_SKILL)
WEIGHTS = (34, 6, 12, 8, 8, 7, 10, 15)


@dataclass
class AgentRequest:
    """One time that an agent asked for something."""

    number: int
    mark: str
    agent: int
    kind: str
    target: Governed
    proposal_id: int = 0
    told: str = ""


@dataclass
class CrowdedInbox:
    """The tenant, what its agents asked for, and what became of it."""

    world: World
    agents: Sequence[Agent]
    bots: Sequence[Actor]
    people: Sequence[Actor]
    asked: list[AgentRequest] = field(default_factory=list)
    counted: Counter[str] = field(default_factory=Counter)
    told: dict[str, str] = field(default_factory=dict)
    numbers: Any = field(default_factory=count)

    def rows(self, model: Any, **equal: object) -> list[Any]:  # Any: a governed model, and its rows
        """What a person sees of a noun."""
        with acting_as(self.people[0]):
            return list(model.objects.visible_to(self.people[0]).filter(**equal).order_by("pk"))

    def read(self, row: Any) -> Any:
        """A row as it stands now."""
        return self.rows(type(row), pk=row.pk)[0]


def open_inbox(proposals: int) -> CrowdedInbox:
    """A tenant with four agents, what they have, and three people."""
    world = make_world()
    agents = [world.agent, *(make_neighbour(world, f"agent-{number}") for number in range(1, AGENTS))]
    bots = [agent_actor(world.tenant.pk, agent.pk, agent.service_user_id, agent.key) for agent in agents]
    third = person_actor(make_member(world).user_id, world.tenant.pk, Role.OPERATOR)
    inbox = CrowdedInbox(world, agents, bots, (world.operator, third, world.admin))
    for agent, bot in zip(agents, bots, strict=True):
        create_persona(agent.pk, actor=world.operator, values={"style": "Warm.", "avoid": "Never shout."})
        for number in range(max(SKILLS_AT_LEAST, proposals // PROPOSALS_PER_SKILL)):
            owner = World(**{**vars(world), "agent": agent, "bot": bot})
            make_skill(owner, "approved", title=f"Runbook {agent.pk} {number}")
    cap = max(CAP_AT_LEAST, proposals // PROPOSALS_PER_CAP)
    amend_settings(inbox.rows(TenantSettings)[0], actor=world.admin, max_open_proposals=cap)
    for number in range(SHARED_RULES):
        add_rule(None, actor=world.operator, text=f"Rule {number} of all.")
    return inbox


def fill_inbox(inbox: CrowdedInbox, proposals: int, seed: int) -> None:
    """Everything that happens in sixty days."""
    chance = random.Random(seed)
    changes: dict[int, list[AgentRequest]] = {}
    for number in range(proposals):
        one = _repeat_request(inbox, chance, number) if chance.random() < SIMILAR_SHARE and inbox.asked else None
        one = one or _new_request(inbox, chance, number)
        _submit_request(inbox, one)
        inbox.asked.append(one)
        if chance.random() < LATER_CHANGE_SHARE:
            changes.setdefault(min(number + DECISION_DELAY, proposals - 1), []).append(one)
        for earlier in changes.pop(number, ()):
            inbox.counted["changed"] += _edit_target(inbox, earlier)
        if number % 25 == 24:
            _reject_random(inbox, chance)
        if number % (proposals // SWEEPS) == proposals // SWEEPS - 1:
            sweep(inbox, proposals, number)


def _new_request(inbox: CrowdedInbox, chance: random.Random, number: int) -> AgentRequest:
    agent = chance.randrange(AGENTS)
    kind = chance.choices(KINDS, WEIGHTS)[0]
    return AgentRequest(number, f"m{number:04}m", agent, kind, chance.choice(_possible_targets(inbox, agent, kind)))


def _repeat_request(inbox: CrowdedInbox, chance: random.Random, number: int) -> AgentRequest:
    """What was asked for before, in nearly the same words; what all agents share, by any of them."""
    before = chance.choice(inbox.asked)
    shared = before.kind in {"rules of all", "rule of all"}
    inbox.counted["similar"] += 1
    agent = chance.randrange(AGENTS) if shared else before.agent
    return AgentRequest(number, f"m{number:04}m", agent, before.kind, before.target)


def _possible_targets(inbox: CrowdedInbox, agent: int, kind: str) -> list[Any]:
    agent_id = inbox.agents[agent].pk
    match kind:
        case "revision" | "deprecation":
            return inbox.rows(Skill, agent_id=agent_id, status=Skill.Status.APPROVED)
        case "fields" | "patch":
            return inbox.rows(Persona, agent_id=agent_id)
        case "rules of all":
            return inbox.rows(TenantSettings)
        case "rule of all":
            return inbox.rows(StandingRule, agent_id=None)
        case _:
            return [inbox.agents[agent]]


def _submit_request(inbox: CrowdedInbox, one: AgentRequest) -> None:
    before = {row.pk for row in inbox.rows(Proposal, state=Proposal.State.OPEN)}
    try:
        proposal = REQUEST_RUNNERS[one.kind](inbox, one, f"Better so ({one.mark}).")
    except GovernanceError as refusal:
        one.told = str(refusal)
        inbox.counted[f"refused: {refusal.code}"] += 1
        inbox.told.setdefault(refusal.code, one.told)
        return
    one.proposal_id = proposal.pk
    inbox.counted["merged" if proposal.pk in before else "opened"] += 1


RequestRunner = Callable[[CrowdedInbox, AgentRequest, str], Proposal]


def _make_proposer(act: Callable[..., Proposal], given: Callable[[str], Mapping[str, object]]) -> RequestRunner:
    def ask(inbox: CrowdedInbox, one: AgentRequest, words: str) -> Proposal:
        evidence = {"conversation_id": one.number + 1}
        return act(inbox.read(one.target), actor=inbox.bots[one.agent], evidence=evidence, **given(words))

    return ask


def _draft_new_skill(inbox: CrowdedInbox, one: AgentRequest, words: str) -> Proposal:
    """A new skill; asked for again under the name it has, it is refused with the name."""
    values = {"title": f"Fresh {one.agent} {one.number % 60}", "description": words, "body": f"## Procedure\n{words}"}
    skill = draft_skill(one.target.pk, actor=inbox.bots[one.agent], values=values)
    with acting_as(inbox.people[0]):
        submitted = submission_of(skill, inbox.people[0])
    assert submitted is not None
    return submitted


REQUEST_RUNNERS: Mapping[str, RequestRunner] = {
    "revision": _make_proposer(propose_revision, lambda words: {"values": {"body": words}}),
    "deprecation": _make_proposer(propose_deprecation, lambda words: {"rationale": words}),
    "fields": _make_proposer(propose_sections, lambda words: {"values": {"avoid" if words < "C" else "style": words}}),
    "patch": _make_proposer(propose_patch, lambda words: {"text": words}),
    "rules": _make_proposer(propose_rules, lambda words: {"lines": [words]}),
    "rules of all": _make_proposer(propose_rules, lambda words: {"lines": [words]}),
    "rule of all": _make_proposer(propose_rule_change, lambda words: {"text": words}),
    NEW_SKILL: _draft_new_skill,
}


def _edit_target(inbox: CrowdedInbox, one: AgentRequest) -> bool:
    """A person writes into what was asked about, so that whoever asked had read another text."""
    row, words = inbox.read(one.target), f"A person wrote this, {next(inbox.numbers)}."
    person = inbox.people[0]
    match row:
        case Skill() if row.status == Skill.Status.APPROVED:
            revise_skill(row, actor=person, values={"description": words})
        case Persona():
            amend_persona(row, actor=person, values={"goals": words})
        case StandingRule():
            amend_rule(row, actor=person, values={"text": words})
        case _:
            return False
    return True


def _reject_random(inbox: CrowdedInbox, chance: random.Random) -> None:
    waiting = inbox.rows(Proposal, state=Proposal.State.OPEN)
    reject_proposal(chance.choice(waiting), actor=inbox.people[0], reason="Not this way.", reason_code="wrong")
    inbox.counted["rejected"] += 1


def sweep(inbox: CrowdedInbox, proposals: int, number: int) -> None:
    """The calendar reaches today, and the sweep closes what waited for thirty days."""
    latest = {one.proposal_id: one.number for one in inbox.asked if one.proposal_id}
    with acting_as(inbox.world.system), connection.cursor() as cursor:
        for row in inbox.rows(Proposal, state=Proposal.State.OPEN):
            waited = (number - latest.get(row.pk, number)) * DAYS / proposals
            cursor.execute(
                "UPDATE governance_proposal SET expires_at = now() + make_interval(secs => %s) WHERE id = %s",
                [(WAITS - waited) * 86400, row.pk],
            )
    for tenant_id, proposal_id in due_work("proposal_expiries"):
        expire(tenant_id, proposal_id)
