"""The tool by which an agent hands a question to a person (R136)."""

from typing import Final

from apps.desk.actions import open_escalation
from apps.desk.models import Escalation
from apps.governance.database.actor_transaction import acting_as
from apps.governance.errors import Invalid
from apps.llm.model_backend import JsonObject
from apps.prompt.builtin_tools import ESCALATE
from apps.runtime.tools.builtin_tool import BuiltinTool, ToolContext

# The reasons that an agent can know. The product finds the others itself.
REASONS: Final = (
    Escalation.Reason.CUSTOMER_ASKED,
    Escalation.Reason.MISSING_KNOWLEDGE,
    Escalation.Reason.POLICY,
    Escalation.Reason.TOOL_FAILURE,
    Escalation.Reason.UNSUPPORTED,
)
_REASON_LIST: Final = ", ".join(REASONS)


def _escalate(context: ToolContext, arguments: JsonObject) -> str:
    reason = str(arguments["reason"])
    if reason not in REASONS:
        flaw = f"There is no reason “{reason}”. Give one of: {_REASON_LIST}."
        raise Invalid(flaw, {"reason": [flaw]})
    with acting_as(context.actor):
        open_escalation(
            context.conversation.pk,
            actor=context.actor,
            agent_id=context.agent_id,
            turn_id=context.turn_id,
            reason=Escalation.Reason(reason),
            question=str(arguments["question"]),
        )
    return "A colleague has the question now. Tell the customer so, and promise no time."


ESCALATION_TOOL: Final = BuiltinTool(
    ESCALATE,
    "Hand a question to a colleague when the customer asks for a person, or when you cannot ground or are not allowed to "
    "give an answer. It is not answered at once.",
    {
        "reason": f"One of: {_REASON_LIST}.",
        "question": "What the colleague should decide or find out, in one or two sentences.",
    },
    ("reason", "question"),
    _escalate,
    learns=False,
)
