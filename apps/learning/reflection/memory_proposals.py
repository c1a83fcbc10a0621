"""Proposes the memory lines of a reflection for review, each line vetted by itself (R119)."""

from collections.abc import Sequence
from dataclasses import replace

from apps.governance.actors import Actor
from apps.learning.extraction.eligibility import LearningRejection
from apps.learning.guardrails.agent_guardrails import read_guardrails
from apps.learning.guardrails.conflicts_with_guardrails import find_weakenings
from apps.learning.lessons.rules import dedup_key
from apps.learning.reflection.memory_vetting import MIN_CONVERSATIONS, vet_memory
from apps.memory.line_proposals import LineProposalResult, propose_new_lines
from apps.memory.models import AgentMemory
from apps.prompt.learning_prompts.reflection import ReflectedMemory
from apps.prompt.memory_lines.line_diff import distinct_lines
from apps.text_analysis.pii.masking import PiiMasker


def propose_memory_lines(
    found: Sequence[ReflectedMemory], agent_id: int, conversations: Sequence[int], firewall: PiiMasker, *, actor: Actor
) -> LineProposalResult:
    """Propose lines that several of the day's `conversations` support. Return a reason for each line that is not proposed."""
    bodies = AgentMemory.objects.visible_to(actor).filter(agent_id=agent_id).values_list("body", flat=True)
    remembered = {_line_key(line): line for body in bodies for line in distinct_lines(body)}
    held = read_guardrails(agent_id, actor)
    lines: dict[str, list[int]] = {}
    messages: list[str] = []
    is_known = False
    for each in found:
        cited = [conversations[number - 1] for number in each.conversations if number <= len(conversations)]
        line = vet_memory(each.text, firewall)
        if isinstance(line, LearningRejection):
            messages.append(line.reason)
        elif len(cited) < MIN_CONVERSATIONS:
            messages.append(f"“{line}” names {len(cited)} conversations that show it; two are needed.")
        elif weaker := find_weakenings([line], held):
            messages.append(f"“{line}” is refused. {weaker[0].reason}")
        elif stands := remembered.get(_line_key(line)):
            is_known = True
            messages.append(f"“{line}” is remembered already: “{stands}”.")
        else:
            lines[line] = cited
    if not lines:
        return LineProposalResult(None, tuple(messages), is_known)
    evidence = {"conversation_ids": sorted({pk for cited in lines.values() for pk in cited})}
    brought = propose_new_lines(agent_id, list(lines), actor=actor, evidence=evidence)
    return replace(brought, said=(*messages, *brought.said), is_known=brought.is_known or is_known)


def _line_key(line: str) -> str:
    return dedup_key("", "", line)
