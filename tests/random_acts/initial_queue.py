"""What waits on either side when the play begins, so that what people do with it is tried from the first step on."""

from itertools import count

from apps.conversations.actions import take_over_conversation
from apps.desk.actions import make_draft, open_escalation, write_send_rule
from apps.desk.models import Escalation, SendRule
from apps.desk.rules import Grounding, GroundingFact
from apps.governance.actors import Role
from apps.governance.policy.policy_table import Act, default_grants
from apps.kill_switches.actions import activate_kill_switch
from apps.kill_switches.models import KillSwitch
from apps.learning.lessons.lesson_capture import capture_agent_lessons
from apps.memory.actions import amend_block
from apps.personas.actions import archive_persona, retire_rule
from apps.personas.models import Persona
from apps.prompt.text_reuse.derived_lines import NO_RECEIVED_TEXTS
from apps.skills.quarantine import quarantine_skill
from apps.tenants.actions import limit_member, write_grants
from apps.tenants.models import Membership
from apps.tenants.models.grants import AgentGrants, MemberLimit
from tests.random_acts.two_tenants import CUSTOMERS, ActingTenant
from tests.support.factories.lessons import make_edited_draft
from tests.support.worlds.world import make_block, make_conversation, make_rule, make_skill

# No turn runs here, and their numbers only have to differ.
_turns = count(4_000_000)


def fill_queue(side: ActingTenant) -> None:
    """A draft, a question, a lesson, a conversation in hand, rules and limits, and things that were put away."""
    world, person, admin = side.world, side.world.operator, side.world.admin
    for customer in CUSTOMERS:
        _fill_desk(side, make_conversation(world, customer).pk)
    take_over_conversation(make_conversation(world, "http:held"), actor=person)
    rule = SendRule(tenant_id=side.tenant_id, agent=side.agents[1])
    write_send_rule(rule, actor=admin, values={"channel": "sms", "send_mode": "suggest", "skill": None})
    activate_kill_switch(
        KillSwitch.Kind.PAUSE_SENDING, actor=person, reason=side.words(person), agent_id=side.agents[1].pk
    )
    retire_rule(make_rule(world, side.words(person)), actor=person)
    quarantine_skill(make_skill(world, "draft", title=side.words(world.bot)), actor=person, reason="Odd.")
    amend_block(make_block(world, "Habits"), actor=world.bot, body=side.words(world.bot), heard=NO_RECEIVED_TEXTS)
    make_edited_draft(world, side.words(world.bot), side.words(world.bot), side.words(person))
    capture_agent_lessons(world.agent.pk, actor=world.system)
    _add_limits(side)


def archive_a_persona(side: ActingTenant) -> None:
    """Where no other took its place, it may come back."""
    [persona] = side.rows(Persona, agent=side.agents[1])
    archive_persona(persona, actor=side.world.operator)


def _fill_desk(side: ActingTenant, conversation_id: int) -> None:
    world, asked = side.world, side.words(side.world.bot)
    make_draft(
        conversation_id,
        actor=world.system,
        agent_id=world.agent.pk,
        turn_id=next(_turns),
        text=side.words(world.bot),
        grounding=Grounding.TOOL,
        facts=[GroundingFact(Grounding.TOOL, "find_parcel")],
    )
    reason = Escalation.Reason.POLICY
    open_escalation(
        conversation_id, actor=world.bot, agent_id=world.agent.pk, turn_id=None, reason=reason, question=asked
    )


def _add_limits(side: ActingTenant) -> None:
    """One person approves skills of one agent only, and one agent holds a right less."""
    second = next(row for row in side.rows(Membership) if row.user_id == side.people["second operator"].pk)
    limit = MemberLimit(tenant_id=side.tenant_id, member=second, limited_act=Act.SKILL_APPROVE.value)
    limit_member(limit, actor=side.world.admin, agents=[side.agents[0].pk])
    grants = AgentGrants(tenant_id=side.tenant_id, agent=side.agents[1], role=Role.AGENT.value)
    names = sorted(default_grants(Role.AGENT))
    write_grants(grants, actor=side.world.admin, granted=set(names[1:]))
