"""Finds an existing runbook with the same content as a new draft, so that similar conversations create no duplicates."""

from collections.abc import Collection, Sequence
from dataclasses import asdict

from apps.conversations.rules import ConversationLine
from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import lock_name
from apps.learning.extraction.draft_validation import VettedDraft
from apps.learning.extraction.models import Extraction
from apps.prompt.builtin_tools import BUILTIN_TOOL_NAMES
from apps.skills.models import Skill
from apps.text_analysis.procedure_similarity import ProcedureIndex, ProcedureLikeness, ProcedureText, tools_in


def called_tools(lines: Sequence[ConversationLine]) -> frozenset[str]:
    """Return the tools that a conversation called, without the built-in tools, which conversations of every kind use."""
    return frozenset(call.name for line in lines for call in line.tool_calls) - BUILTIN_TOOL_NAMES.keys()


def lock_skill_comparison(agent_id: int) -> None:
    """Lock an agent's skill comparison until the transaction ends: one extraction at a time compares and adds runbooks."""
    # Conversations that end together are compared one after the other; each waits only for two short statements.
    lock_name(f"extraction of agent {agent_id}")


def find_similar_skill(
    draft: VettedDraft, called: Collection[str], agent_id: int, *, actor: Actor
) -> tuple[Skill, ProcedureLikeness] | None:
    """Return the agent's draft or approved runbook whose content is the same or similar, and the reason for the match."""
    rows = Skill.objects.visible_to(actor).for_agent(agent_id).exclude(status=Skill.Status.DEPRECATED).order_by("id")
    known = list(rows.only("id", "name", "title", "description", "body", "status", "agent_id", "tenant_id"))
    learned = Extraction.objects.filter(agent_id=agent_id).exclude(tool_names=[]).values_list("tool_names", flat=True)
    tools = frozenset(called).union(*learned)
    shelf = ProcedureIndex.of(
        ProcedureText(skill.name, skill.title, skill.description, skill.body, tools_in(skill.body, tools))
        for skill in known
    )
    found = shelf.closest(ProcedureText(**asdict(draft), tools=tools_in(draft.body, tools)))
    return (known[found.place], found) if found else None
