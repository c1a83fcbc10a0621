"""What an agent goes by, text by text, with the row each stands in: what the checks for contradictions read."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from django.db import connection

from apps.governance.actors import Actor
from apps.learning.contradictions.models import Contradiction
from apps.memory.models import AgentMemory, MemoryBlock, MemoryTier
from apps.personas.models import SECTIONS, Persona, StandingRule
from apps.prompt.memory_lines.line_expiry import holding
from apps.skills.models import Skill
from apps.text_analysis.contradictions.detection import Part, Tools
from apps.tools.models import AgentTool, ServerTool

AVOID = "avoid"
Nouns = Contradiction.Nouns


@dataclass(frozen=True, slots=True)
class Text:
    """A text of one row; `where` says to people where it stands."""

    noun: str
    row_id: int
    where: str
    part: Part
    text: str


def written_by_people(agent_id: int, actor: Actor) -> Iterator[Text]:
    """The active persona and the rules in force."""
    for persona in Persona.objects.visible_to(actor).active().filter(agent_id=agent_id):
        for name in SECTIONS:
            part = Part.AVOID if name == AVOID else Part.PERSONA
            yield Text(Nouns.PERSONA, persona.pk, f"the persona ({name})", part, getattr(persona, name))
    for rule in StandingRule.objects.visible_to(actor).active().for_agent(agent_id):
        yield Text(Nouns.RULE, rule.pk, f"rule {rule.pk}", Part.RULE, rule.text)


def remembered(agent_id: int, actor: Actor, now: datetime) -> Iterator[Text]:
    """What holds of the memory and of every block, pinned or not."""
    for memory in AgentMemory.objects.visible_to(actor).filter(agent_id=agent_id):
        body = holding(memory.body, memory.line_dates, now)
        yield Text(Nouns.MEMORY, memory.pk, "the memory", Part.MEMORY, body)
    for block in MemoryBlock.objects.visible_to(actor).filter(agent_id=agent_id).order_by("label", "id"):
        body = holding(block.body, block.line_dates, now)
        yield Text(Nouns.BLOCK, block.pk, f"the block {block.label}", Part.MEMORY, body)


def distilled(agent_id: int, actor: Actor) -> Iterator[Text]:
    """What stands of what was distilled; what waits for a person is in no prompt.

    The short tier claims nothing: it counts messages of one conversation after the other, and no two counts have to agree.
    """
    standing = MemoryTier.objects.visible_to(actor).filter(agent_id=agent_id, status=MemoryTier.Status.ACTIVE)
    standing = standing.exclude(tier=MemoryTier.Tier.SHORT)
    for tier in standing.order_by("id"):
        yield Text(Nouns.TIER, tier.pk, f"the {tier.tier} tier of memory", Part.MEMORY, tier.told)


def tools_of_others(agent_id: int, actor: Actor) -> Tools:
    """Which tools of other people's servers the agent may call, and which there are, each also by its server's own name."""
    mine = {tool.allowed.name for tool in AgentTool.objects.visible_to(actor).for_agent(agent_id)}
    names = ServerTool.objects.filter(tenant_id=actor.tenant_id).values_list("qualified_name", "name")
    listed = [frozenset(pair) for pair in names]
    return Tools(frozenset(mine).union(*(pair for pair in listed if pair & mine)), frozenset().union(*listed))


def own_tools() -> Tools:
    """Which of them the acting agent may call; it is told of no other."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT list_agent_tool_names()")
        return Tools(frozenset(cursor.fetchall()[0][0]))


def runbooks(agent_id: int, actor: Actor) -> Iterator[Text]:
    """What a person approved and nobody holds back, the oldest first."""
    for skill in Skill.objects.visible_to(actor).approved().for_agent(agent_id).order_by("id"):
        yield Text(Nouns.SKILL, skill.pk, f"the skill {skill.name}", Part.SKILL, skill.body)
