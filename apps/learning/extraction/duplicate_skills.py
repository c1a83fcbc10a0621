"""Whether an agent has a runbook already that says what a new draft says, so that a third like conversation drafts no third one."""

from collections.abc import Collection, Sequence
from dataclasses import asdict

from apps.conversations.rules import Line
from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import hold_name
from apps.learning.extraction.models import Extraction
from apps.learning.extraction.vetting import Vetted
from apps.prompt.builtin_tools import HOUSE
from apps.skills.models import Skill
from apps.text_analysis.procedure_similarity import Draft, Likeness, Shelf, tools_in


def called_in(lines: Sequence[Line]) -> frozenset[str]:
    """The tools a conversation called. The house's own are called for every matter and tell none from another."""
    return frozenset(call.name for line in lines for call in line.tool_calls) - HOUSE.keys()


def compare_one_at_a_time(agent_id: int) -> None:
    """Until the transaction ends nobody else compares a draft with this agent's runbooks, or adds one by extraction."""
    # Two conversations that end together are compared one after the other; who waits does so for two short statements.
    hold_name(f"extraction of agent {agent_id}")


def closest(draft: Vetted, called: Collection[str], agent_id: int, *, actor: Actor) -> tuple[Skill, Likeness] | None:
    """The agent's draft or approved runbook that says the same, or may, and why."""
    rows = Skill.objects.visible_to(actor).for_agent(agent_id).exclude(status=Skill.Status.DEPRECATED).order_by("id")
    known = list(rows.only("id", "name", "title", "description", "body", "status", "agent_id", "tenant_id"))
    learned = Extraction.objects.filter(agent_id=agent_id).exclude(tool_names=[]).values_list("tool_names", flat=True)
    tools = frozenset(called).union(*learned)
    shelf = Shelf.of(
        Draft(skill.name, skill.title, skill.description, skill.body, tools_in(skill.body, tools)) for skill in known
    )
    found = shelf.closest(Draft(**asdict(draft), tools=tools_in(draft.body, tools)))
    return (known[found.place], found) if found else None
