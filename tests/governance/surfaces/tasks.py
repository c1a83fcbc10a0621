"""Celery tasks as a way in: a worker as the system by the task's own act, and as an agent by the tools it has in a turn."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, ClassVar

from django.test import override_settings

from apps.conversations.actions import import_conversation, resolve_conversation
from apps.conversations.models import Conversation
from apps.conversations.rules import ConversationLine, ToolCall
from apps.governance.actors import Role
from apps.governance.policy.policy_table import Act
from apps.learning.distillation.tier_editing import run_tier
from apps.learning.tasks import capture_lessons, digest_lessons, distil_memory, extract_skill
from apps.llm.anthropic.sync_client import AnthropicBackend
from apps.notebook.tasks import drop_scratch
from apps.review.tasks import expire_proposal
from apps.runtime.policy_conformance import ACT_BY_TOOL
from apps.runtime.tasks import take_turn
from apps.runtime.tools.skill_editing_tools import SKILL_TOOLS
from apps.standin.thread_server import run_standin_thread
from apps.tenants.actions import amend_agent
from tests.governance.surfaces.base import RUNBOOK
from tests.support.drivers.conversation import reply, tool
from tests.support.factories.contradictions import CONTRADICTION_TASKS
from tests.support.factories.lessons import DRAFT_TEXT, make_edited_draft, make_lesson
from tests.support.factories.member_talks import make_talk, message_assistant
from tests.support.factories.notes import make_old_scratch
from tests.support.servers.standin_model import StandIn
from tests.support.worlds.lawful_acts import Scene
from tests.support.worlds.world import make_conversation, make_event

# A conversation worth a skill.
LESSON = [
    ConversationLine("customer", "I want to cancel my order, please."),
    ConversationLine(
        "agent",
        "",
        (
            ToolCall("a", "find_order", {"order_id": "B77"}, "Found."),
            ToolCall("b", "cancel_order", {"order_id": "B77"}, "Done."),
        ),
    ),
    ConversationLine("agent", "It is cancelled."),
    ConversationLine("customer", "Thank you, that is all."),
]


def import_lesson(scene: Scene) -> Conversation:
    """Let a conversation worth a skill lie there."""
    made = import_conversation(
        scene.world.agent.pk,
        actor=scene.world.system,
        transcript_id="lesson",
        lines=LESSON,
        outcome=Conversation.Outcome.SOLVED,
    )
    assert made is not None
    return made


def _digest(scene: Scene, agent_id: int) -> None:
    """Let a lesson lie there that two drafts taught."""
    make_lesson(scene.world, cases=2)
    digest_lessons.run(scene.world.tenant.pk, agent_id)


def run_distillation(scene: Scene) -> None:
    """Let a conversation have ended, and what became of it be distilled."""
    world = scene.world
    resolve_conversation(make_conversation(world), actor=world.bot, outcome=Conversation.Outcome.SOLVED)
    run_tier(world.agent.pk, "short", actor=world.operator)
    distil_memory.run(world.tenant.pk, world.agent.pk)


def _capture_edits(scene: Scene, agent_id: int) -> None:
    """Let three drafts lie there that were changed in the same way."""
    for _ in range(3):
        make_edited_draft(scene.world, sent=f"{DRAFT_TEXT} Your order number is 4711.")
    capture_lessons.run(scene.world.tenant.pk, agent_id)


# By which task the system does an act, and with which words an agent asks for a tool.
TASK_RUNS: Mapping[Act, Callable[[Scene, Any], None]] = {
    Act.SKILL_DRAFT: lambda scene, _: extract_skill.run(scene.world.tenant.pk, import_lesson(scene).pk),
    Act.LEARNING_VERSION_PROPOSE: lambda scene, agent: _digest(scene, agent.pk),
    Act.TIER_DISTIL: lambda scene, _: run_distillation(scene),
    Act.EDIT_CLUSTER_FIND: lambda scene, agent: _capture_edits(scene, agent.pk),
    Act.PROPOSAL_EXPIRE: lambda scene, row: expire_proposal.run(scene.world.tenant.pk, row.pk),
    **CONTRADICTION_TASKS,
    Act.NOTE_DROP: lambda scene, _: drop_scratch.run(scene.world.tenant.pk, make_old_scratch(scene.world)),
}
REWRITTEN_FIELDS: Mapping[str, str] = dict.fromkeys(("title", "description", "category", "body"), "New.")
TOOL_ARGUMENTS: Mapping[str, Callable[[Any], Mapping[str, object]]] = {
    "get_skill": lambda row: {"skill_id": row.pk},
    "skill_view": lambda row: {"skill_id": row.pk},
    "update_my_memory": lambda row: {"operations": [{"op": "add", "block": row.label, "text": "Parcels arrive late."}]},
    "update_contact_memory": lambda _: {"operations": [{"op": "add", "field": "notes", "text": "Writes at night."}]},
    "update_memory": lambda _: {"body": "Parcels arrive late."},
    "update_customer_profile": lambda _: {"preferences": "Letters.", "notes": "Writes at night."},
    "propose_persona_patch": lambda _: {"text": "Say hello first."},
    "draft_skill": lambda _: RUNBOOK,
    "delegate": lambda _: {"agent_key": "billing", "task": "What is owed?"},
    "propose_schedule": lambda skill: {"key": "nightly", "title": "Nightly", "cron": "0 23 * * *", "skill": skill.name},
    "withdraw_schedule": lambda row: {"key": row.key},
    "soul_update": lambda _: {"text": "Be brief."},
    "skill_save": lambda row: {"skill_id": row.pk, "version": row.version, **REWRITTEN_FIELDS},
    "skill_patch": lambda row: {
        "skill_id": row.pk,
        "version": row.version,
        "find": "## Procedure",
        "replace": "## How",
    },
    "skill_delete": lambda row: {"skill_id": row.pk, "reason": "Written twice."},
    "write_note": lambda _: {"kind": "task", "text": "Look into parcels."},
    "finish_note": lambda row: {"note_id": row.pk},
    "escalate": lambda _: {"reason": "missing_knowledge", "question": "Do we ship to Malta?"},
}
# Who reads an approved skill reads it for a customer; `skill_view` is tried where skills are tended.
TOOLS = {act: name for name, act in ACT_BY_TOOL.items() if name != "skill_view"}
SKILL_TOOL_NAMES = {tool.name for tool in SKILL_TOOLS}
# An agent changes what it read in the same conversation (R101).
READ_FIRST_TOOLS = {"skill_save", "skill_patch"}


class TaskSurface:
    """A worker. Whom it acts as follows from the task; no task takes an actor."""

    name = "tasks"
    roles = (Role.SYSTEM, Role.AGENT)
    not_offered: ClassVar[Mapping[Act, str]] = dict.fromkeys(set(Act) - {*TASK_RUNS, *TOOLS}, "no worker does it")
    not_for: ClassVar[Mapping[tuple[Act, Role], str]] = {
        **{(act, Role.SYSTEM): "only an agent does it, in a turn" for act in set(TOOLS) - set(TASK_RUNS)},
        **{(act, Role.AGENT): "no tool of agents does it" for act in set(TASK_RUNS) - set(TOOLS)},
    }

    def perform(self, scene: Scene, role: Role) -> str:
        """Let a worker run it. What a tool was refused is said to the model, and the task ends well."""
        with running_model() as standin:
            if role is Role.SYSTEM:
                TASK_RUNS[scene.act](scene, scene.subject)
            else:
                name = TOOLS[scene.act]
                if name in SKILL_TOOL_NAMES:
                    amend_agent(scene.world.agent, actor=scene.world.admin, may_edit_skills=True)
                read = [tool("skill_view", skill_id=scene.subject.pk)] if name in READ_FIRST_TOOLS else []
                standin.play(*read, tool(name, **TOOL_ARGUMENTS[name](scene.subject)), reply("Done."))
                take_turn.run(scene.world.tenant.pk, _make_waiting_conversation(scene))
        return ""


def _make_waiting_conversation(scene: Scene) -> int:
    """The conversation that waits: a customer's, or a member's with their assistant."""
    if scene.act is not Act.MEMBER_OVERLAY_WRITE:
        return make_event(scene.world).conversation_id
    return message_assistant(make_talk(scene.world), "Be brief", scene.world.operator).conversation_id


@contextmanager
def running_model() -> Iterator[StandIn]:
    """The stand-in, where the settings look for a model."""
    with run_standin_thread() as url, override_settings(ANTHROPIC_BASE_URL=url, ANTHROPIC_API_KEY="stand-in"):
        backend = AnthropicBackend("stand-in", base_url=url)
        yield StandIn(url, backend)
        backend.close()
