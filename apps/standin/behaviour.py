from __future__ import annotations

from typing import TYPE_CHECKING

from apps.standin.conversation import Conversation
from apps.standin.decisions import Decision, Say
from apps.standin.learning_agents.digester import digest
from apps.standin.learning_agents.distiller import distil
from apps.standin.learning_agents.extractor import extract
from apps.standin.learning_agents.reflector import reflect
from apps.standin.requests import InvalidRequest, text_of
from apps.standin.support_agent.support_agent import answer

if TYPE_CHECKING:
    from apps.standin.requests import ParsedRequest

EXTRACTION_HEADING = "# Skill extraction"
REFLECTION_HEADING = "# Daily reflection"
DIGEST_HEADING = "# Lesson digest"
DISTILLATION_HEADING = "# Memory distillation"
_WRITERS = (
    (EXTRACTION_HEADING, extract),
    (REFLECTION_HEADING, reflect),
    (DIGEST_HEADING, digest),
    (DISTILLATION_HEADING, distil),
)


def decide(asked: ParsedRequest) -> Decision:
    """The same bytes always lead to the same decision."""
    for heading, write in _WRITERS:
        if not asked.tools and asked.system_text.lstrip().startswith(heading):
            return Say(write("\n".join(text_of(block) for block in asked.messages[-1].blocks)))
    if asked.output_schema is not None:
        sentence = "The stand-in model writes structured output for what agents learn only. Script this reply."
        raise InvalidRequest(sentence)
    return answer(Conversation(asked))
