"""A model that knows by what it is told what to say next, however often it is asked: what a crash repeats, it says again."""

import re
from dataclasses import dataclass

from apps.llm.model_backend import ModelReply, ModelRequest
from tests.support.drivers.conversation import reply, tool
from tests.support.servers.standin_model import StandIn

TASK, ANSWERED = "What is owed?", "Forty euros."
SAID, RELAYED, PAID = "One moment, please.", "You owe forty euros.", "It is paid back."
CHECKING_REPLY = "It is being checked."
PAY_BACK = re.compile(r"pay order (\w+) back")


@dataclass(frozen=True)
class ScriptedModel:
    """Pays orders back by a tool of others, asks billing what is owed, and says no more than it has to."""

    standin: StandIn

    def complete(self, request: ModelRequest) -> ModelReply:
        """As the stand-in does, who is told what to say."""
        # What it was told before may be left by somebody who died.
        self.standin.forget()
        self.standin.play(next_step(request))
        return self.standin.backend.complete(request)


def next_step(request: ModelRequest) -> dict[str, object]:
    """The next step, by the last message."""
    text = str(request.messages[-1]["content"])
    if "tool_result" in text:
        is_let = "colleague approved" in str(request.messages[-3]["content"])
        return reply(CHECKING_REPLY if "not known whether" in text else PAID if is_let else SAID)
    if "asked you to work on this" in text:
        return reply(ANSWERED)
    if "[Answer of another agent" in text:
        return reply(RELAYED)
    if "colleague approved" in text or PAY_BACK.search(text):
        return _request_refund(request)
    return tool("delegate", agent_key="billing", task=TASK) if "I owe" in text else reply(SAID)


def _request_refund(request: ModelRequest) -> dict[str, object]:
    [name] = [each.name for each in request.tools if each.name.endswith("__refund")]
    orders = PAY_BACK.findall(str(request.messages))
    return tool(name, number=orders[-1])
