"""An agent's knowledge and behavior as texts, each with the row that stores it: the input of the contradiction checks."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from django.db import connection

from apps.governance.actors import Actor
from apps.learning.contradictions.models import Contradiction
from apps.memory.models import AgentMemory, MemoryBlock, MemoryTier
from apps.personas.models import SECTIONS, Persona, StandingRule
from apps.prompt.memory_lines.line_expiry import drop_expired_lines
from apps.skills.models import Skill
from apps.text_analysis.contradictions.detection import TextKind, ToolNames
from apps.tools.models import AgentTool, ServerTool

AVOID_SECTION = "avoid"
Nouns = Contradiction.Nouns


@dataclass(frozen=True, slots=True)
class AgentText:
    """A text and the row that stores it; `where` names its location for people."""

    noun: str
    row_id: int
    where: str
    part: TextKind
    text: str


def persona_and_rule_texts(agent_id: int, actor: Actor) -> Iterator[AgentText]:
    """Yield the lines of the active persona and of the rules in force."""
    for persona in Persona.objects.visible_to(actor).active().filter(agent_id=agent_id):
        for name in SECTIONS:
            part = TextKind.AVOID if name == AVOID_SECTION else TextKind.PERSONA
            yield AgentText(Nouns.PERSONA, persona.pk, f"the persona ({name})", part, getattr(persona, name))
    for rule in StandingRule.objects.visible_to(actor).active().for_agent(agent_id):
        yield AgentText(Nouns.RULE, rule.pk, f"rule {rule.pk}", TextKind.RULE, rule.text)


def memory_texts(agent_id: int, actor: Actor, now: datetime) -> Iterator[AgentText]:
    """Yield the valid lines of the agent's memory and of every memory block, pinned or not."""
    for memory in AgentMemory.objects.visible_to(actor).filter(agent_id=agent_id):
        body = drop_expired_lines(memory.body, memory.line_dates, now)
        yield AgentText(Nouns.MEMORY, memory.pk, "the memory", TextKind.MEMORY, body)
    for block in MemoryBlock.objects.visible_to(actor).filter(agent_id=agent_id).order_by("label", "id"):
        body = drop_expired_lines(block.body, block.line_dates, now)
        yield AgentText(Nouns.BLOCK, block.pk, f"the block {block.label}", TextKind.MEMORY, body)


def tier_texts(agent_id: int, actor: Actor) -> Iterator[AgentText]:
    """Yield the stored distilled tiers, except tiers that await review, which no prompt contains.

    The short tier is skipped: it contains message counts per conversation, and two different counts are no contradiction.
    """
    standing = MemoryTier.objects.visible_to(actor).filter(agent_id=agent_id, status=MemoryTier.Status.ACTIVE)
    standing = standing.exclude(tier=MemoryTier.Tier.SHORT)
    for tier in standing.order_by("id"):
        yield AgentText(Nouns.TIER, tier.pk, f"the {tier.tier} tier of memory", TextKind.MEMORY, tier.told)


def server_tools_of_agent(agent_id: int, actor: Actor) -> ToolNames:
    """Return the server tools that the agent may call, and all known server tools, also under their servers' own names."""
    mine = {tool.allowed.name for tool in AgentTool.objects.visible_to(actor).for_agent(agent_id)}
    names = ServerTool.objects.filter(tenant_id=actor.tenant_id).values_list("qualified_name", "name")
    listed = [frozenset(pair) for pair in names]
    return ToolNames(frozenset(mine).union(*(pair for pair in listed if pair & mine)), frozenset().union(*listed))


def acting_agent_tools() -> ToolNames:
    """Return the server tools that the acting agent may call. The agent gets no information about other tools."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT list_agent_tool_names()")
        return ToolNames(frozenset(cursor.fetchall()[0][0]))


def approved_skill_texts(agent_id: int, actor: Actor) -> Iterator[AgentText]:
    """Yield approved skills that are not quarantined, oldest first."""
    for skill in Skill.objects.visible_to(actor).approved().for_agent(agent_id).order_by("id"):
        yield AgentText(Nouns.SKILL, skill.pk, f"the skill {skill.name}", TextKind.SKILL, skill.body)
