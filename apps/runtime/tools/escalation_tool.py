"""The tool by which an agent hands a question to a person (R136)."""

from typing import Final

from apps.desk.actions import open_escalation
from apps.desk.models import Escalation
from apps.governance.database.actor_transaction import acting
from apps.governance.errors import Invalid
from apps.llm.model_backend import JsonObject
from apps.prompt.builtin_tools import ESCALATE
from apps.runtime.tools.builtin_tool import Context, HouseTool

# What an agent can tell by itself; the rest the house finds out.
REASONS: Final = (
    Escalation.Reason.CUSTOMER_ASKED,
    Escalation.Reason.MISSING_KNOWLEDGE,
    Escalation.Reason.POLICY,
    Escalation.Reason.TOOL_FAILURE,
    Escalation.Reason.UNSUPPORTED,
)
_KNOWN: Final = ", ".join(REASONS)


def _escalate(context: Context, arguments: JsonObject) -> str:
    reason = str(arguments["reason"])
    if reason not in REASONS:
        flaw = f"There is no reason “{reason}”. Give one of: {_KNOWN}."
        raise Invalid(flaw, {"reason": [flaw]})
    with acting(context.actor):
        open_escalation(
            context.conversation.pk,
            actor=context.actor,
            agent_id=context.agent_id,
            turn_id=context.turn_id,
            reason=Escalation.Reason(reason),
            question=str(arguments["question"]),
        )
    return "A colleague has the question now. Tell the customer so, and promise no time."


HANDING_OVER: Final = HouseTool(
    ESCALATE,
    "Hand a question to a colleague when the customer asks for a person, or when you cannot ground or are not allowed to "
    "give an answer. It is not answered at once.",
    {
        "reason": f"One of: {_KNOWN}.",
        "question": "What the colleague should decide or find out, in one or two sentences.",
    },
    ("reason", "question"),
    _escalate,
    learns=False,
)
