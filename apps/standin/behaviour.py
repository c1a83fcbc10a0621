from __future__ import annotations

from typing import TYPE_CHECKING

from apps.standin.conversation import RequestConversation
from apps.standin.decisions import Decision, TextDecision
from apps.standin.learning_agents.digester import digest_lessons
from apps.standin.learning_agents.distiller import distil_tier
from apps.standin.learning_agents.extractor import extract_skill
from apps.standin.learning_agents.reflector import reflect_on_day
from apps.standin.requests import InvalidModelRequest, text_of
from apps.standin.support_agent.support_agent import answer_conversation

if TYPE_CHECKING:
    from apps.standin.requests import ParsedRequest

EXTRACTION_HEADING = "# Skill extraction"
REFLECTION_HEADING = "# Daily reflection"
DIGEST_HEADING = "# Lesson digest"
DISTILLATION_HEADING = "# Memory distillation"
_LEARNING_AGENTS = (
    (EXTRACTION_HEADING, extract_skill),
    (REFLECTION_HEADING, reflect_on_day),
    (DIGEST_HEADING, digest_lessons),
    (DISTILLATION_HEADING, distil_tier),
)


def choose_decision(asked: ParsedRequest) -> Decision:
    """Return the stand-in's decision; equal request bytes always lead to the same decision."""
    for heading, write in _LEARNING_AGENTS:
        if not asked.tools and asked.system_text.lstrip().startswith(heading):
            return TextDecision(write("\n".join(text_of(block) for block in asked.messages[-1].blocks)))
    if asked.output_schema is not None:
        sentence = "The stand-in model writes structured output for what agents learn only. Script this reply."
        raise InvalidModelRequest(sentence)
    return answer_conversation(RequestConversation(asked))
