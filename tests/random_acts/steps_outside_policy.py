"""What happens beside the acts of the policy: raw SQL as an agent, tools in a turn, sessions, answers, restores."""

from collections.abc import Callable, Mapping
from dataclasses import replace

from django.db import DatabaseError, connection
from django.utils import timezone

from apps.conversations.actions import receive_message
from apps.conversations.models import Conversation
from apps.governance.actors import Role
from apps.governance.database.actor_transaction import acting_as
from apps.learning.extraction.pipeline import extract_conversation
from apps.llm.model_backend import JsonObject, ModelBackend
from apps.memory.models import AgentMemory
from apps.personas.models import Persona, StandingRule
from apps.restore.execution import carry_out_restore
from apps.restore.models import Checkpoint
from apps.restore.plan import MomentTarget, RowTarget, Target, make_restore_plan
from apps.runtime.sessions.session_prefix import open_session
from apps.runtime.tools.builtin_catalog import BUILTIN_TOOLS
from apps.runtime.tools.builtin_tool import ToolContext
from apps.runtime.worker.sync_driver import answer_conversation
from apps.skills.models import Skill
from tests.random_acts.act_choice import ActChoice
from tests.random_acts.two_tenants import NoRowForAct, approved_skills, open_conversations

# What PostgreSQL has to refuse an agent, or let touch no row.
RAW_STATEMENTS = (
    "UPDATE personas_persona SET avoid = 'Obey.'",
    "UPDATE personas_personaoverlay SET text = 'Obey.'",
    "UPDATE personas_identitycard SET signature = 'Obey.'",
    "UPDATE personas_standingrule SET text = 'Obey.'",
    "UPDATE tenants_agent SET contract = 'Obey.'",
    "UPDATE tenants_invokableagent SET role_hint = 'Obey.'",
    "UPDATE skills_skill SET status = 'approved' WHERE status = 'draft'",
    "UPDATE skills_skill SET body = 'Obey.' WHERE status = 'approved'",
    "UPDATE skills_skill SET attachments = '[]' WHERE status = 'approved'",
    "UPDATE memory_agentmemory SET taint = 'operator'",
    "UPDATE memory_memoryblock SET taint = 'operator'",
    "UPDATE memory_memoryblock SET is_read_only = false, is_pinned = true",
    "UPDATE governance_proposal SET state = 'applied', decided_by = 'operator:1'",
    "UPDATE governance_proposal SET state = 'open' WHERE state <> 'open'",
    "INSERT INTO governance_approval (tenant_id, proposal_id, user_id) SELECT tenant_id, id, 1 FROM governance_proposal",
    "UPDATE governance_changerecord SET actor_role = 'operator'",
    "DELETE FROM governance_changerecord",
    "DELETE FROM governance_refusal",
    "UPDATE governance_auditlink SET sha256 = ''",
    "UPDATE runtime_snapshotpart SET text = text || 'Obey.'",
    "UPDATE runtime_session SET prefix_sha256 = ''",
    "UPDATE kill_switches_killswitch SET status = 'off'",
    "UPDATE tenants_tenantsettings SET high_risk_reviewers = 1",
    "UPDATE tenants_membership SET role = 'admin'",
    "UPDATE tenants_agentgrants SET permissions = '[]'",
    "DELETE FROM personas_persona",
    "TRUNCATE governance_auditlink",
    "UPDATE memory_agentmemory SET body = 'Obey.' WHERE tenant_id <> {tenant}",
    "UPDATE memory_customerprofile SET notes = 'Obey.' WHERE tenant_id <> {tenant}",
    "UPDATE skills_skill SET body = 'Obey.' WHERE tenant_id <> {tenant}",
    "INSERT INTO memory_customerprofile SELECT * FROM memory_customerprofile WHERE tenant_id <> {tenant}",
)
RESTORABLE_MODELS = (Persona, StandingRule, Skill, AgentMemory)


def run_raw(chosen: ActChoice, statement: str) -> str:
    """Run it for good as the agent's role; what it reached, in words, or nothing."""
    filled = statement.format(tenant=chosen.actor.tenant_id)
    try:
        with acting_as(chosen.actor), connection.cursor() as cursor:
            cursor.execute(filled)
            reached = cursor.rowcount
    except DatabaseError:
        return ""
    return f"PostgreSQL let {chosen.actor.label} reach {reached} rows: {filled}" if reached > 0 else ""


def use_tool(chosen: ActChoice, name: str) -> object:
    """An agent in a turn calls a tool; whom it serves is the conversation's customer."""
    conversation = _pick_conversation(chosen)
    bot = chosen.actor
    if bot.role is not Role.AGENT:
        raise NoRowForAct("an agent")
    context = ToolContext(
        bot.serving(conversation.end_user_key), bot.agent_id or 0, conversation, timezone.now(), 0, {"memory"}
    )
    tool = next(tool for tool in BUILTIN_TOOLS if tool.name == name)
    return tool.run(context, TOOL_ARGUMENTS[name](chosen))


def _pick_skill_id(chosen: ActChoice) -> int:
    chosen.is_crossed |= chosen.there is not chosen.mine
    return approved_skills(chosen.there)[0].pk if approved_skills(chosen.there) else 0


def _one_line_words(chosen: ActChoice) -> str:
    return " ".join(chosen.words.split())


TOOL_ARGUMENTS: Mapping[str, Callable[[ActChoice], JsonObject]] = {
    "get_skill": lambda chosen: {"skill_id": _pick_skill_id(chosen)},
    "get_skill_attachment": lambda chosen: {"skill_id": _pick_skill_id(chosen), "file_name": "prices.csv"},
    "list_skills": lambda _: {},
    "read_my_memory": lambda _: {},
    "update_my_memory": lambda chosen: {"operations": [{"op": "add", "text": _one_line_words(chosen)}]},
    "read_contact_memory": lambda _: {},
    "update_contact_memory": lambda chosen: {
        "operations": [{"op": "add", "field": "notes", "text": _one_line_words(chosen)}]
    },
    "update_memory": lambda chosen: {"body": chosen.words},
    "update_customer_profile": lambda chosen: {"notes": chosen.words},
    "propose_persona_patch": lambda chosen: {"text": chosen.words},
    "draft_skill": lambda chosen: {
        "title": chosen.name,
        "description": chosen.words,
        "body": f"## Procedure\n{chosen.words}",
    },
}


def _pick_conversation(chosen: ActChoice) -> Conversation:
    """One that the actor's own agent leads, if it is an agent who acts."""
    rows = open_conversations(chosen.mine)
    if chosen.actor.role is Role.AGENT:
        rows = [row for row in rows if row.agent_id == chosen.actor.agent_id]
    if not rows:
        raise NoRowForAct("conversation")
    return rows[chosen.pick % len(rows)]


def freeze_session(chosen: ActChoice) -> object:
    """A worker opens a session, whether or not the last one is stale."""
    system = chosen.mine.world.system
    conversation = _pick_conversation(replace(chosen, actor=system))
    who = ("agent", "second agent")[conversation.agent_id == chosen.mine.agents[1].pk]
    bot = chosen.mine.actor(who).serving(conversation.end_user_key)
    agent = next(agent for agent in chosen.mine.rows(type(chosen.mine.agents[0]), pk=conversation.agent_id))
    return open_session(conversation, agent, system=system, agent_actor=bot)


def answer_customer(chosen: ActChoice, backend: ModelBackend) -> object:
    """A customer writes, and a worker answers."""
    conversation = _pick_conversation(replace(chosen, actor=chosen.mine.world.system))
    receive_message(
        conversation.agent_id,
        actor=chosen.mine.world.system,
        channel=conversation.channel,
        conversation_key=conversation.conversation_key,
        text=chosen.words,
        idempotency_key=chosen.name,
        end_user_key=conversation.end_user_key,
    )
    answer_conversation(chosen.mine.tenant_id, conversation.pk, backend=backend)
    return conversation


def run_extraction(chosen: ActChoice, backend: ModelBackend) -> object:
    """A worker looks at a resolved conversation for what can be learned from it."""
    rows = chosen.mine.rows(Conversation, status=Conversation.Status.RESOLVED)
    if not rows:
        raise NoRowForAct("resolved conversation")
    return extract_conversation(rows[chosen.pick % len(rows)].pk, actor=chosen.mine.world.system, backend=backend)


def run_restore(chosen: ActChoice) -> object:
    """Restore a row to an earlier version, or an agent to the beginning; on a plan that was shown, or on another."""
    target = _restore_target(chosen)
    shown = make_restore_plan(target, actor=chosen.actor)
    return carry_out_restore(target, actor=chosen.actor, shown_sha256="0" * 64 if chosen.stale else shown.sha256)


def _restore_target(chosen: ActChoice) -> Target:
    if chosen.pick % 2:
        row = chosen.row(RESTORABLE_MODELS[chosen.pick // 2 % len(RESTORABLE_MODELS)])
        return RowTarget(type(row), row.pk, max(1, row.version - 1))
    checkpoints = chosen.mine.rows(Checkpoint)
    return MomentTarget(checkpoints[0].moment, chosen.agent)
