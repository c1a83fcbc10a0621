"""The counter's three tools as a turn calls them: one reads, one knows its keys, one must not be called twice."""

from dataclasses import dataclass

import aiohttp

from apps.llm.model_backend import JsonObject, ToolDefinition
from apps.runtime.models import ToolStep
from apps.runtime.tools.toolbox import CallOutcome, Toolbox

RepeatSafety = ToolStep.RepeatSafety
SHAPE: JsonObject = {
    "type": "object",
    "properties": {"order": {"type": "string"}},
    "required": ["order"],
    "additionalProperties": False,
}


@dataclass(frozen=True)
class CounterTool:
    """One path of the counter."""

    url: str
    name: str
    repeat_safety: RepeatSafety
    method: str = "POST"

    @property
    def definition(self) -> ToolDefinition:
        return ToolDefinition(self.name, f"Somebody else's {self.name}.", SHAPE)

    async def call(self, arguments: JsonObject, *, key: str, timeout_seconds: float) -> CallOutcome:
        """What the counter says. Where it says nothing, nobody knows what a write has done."""
        timeout = aiohttp.ClientTimeout(total=timeout_seconds)
        try:
            async with (
                aiohttp.ClientSession(timeout=timeout) as client,
                client.request(self.method, self.url, json=dict(arguments), headers={"Idempotency-Key": key}) as answer,
            ):
                return CallOutcome(await answer.text())
        except (TimeoutError, aiohttp.ClientError) as error:
            lost = self.repeat_safety is not RepeatSafety.READ_ONLY
            return CallOutcome(f"No answer: {type(error).__name__}.", is_error=True, is_unknown=lost)


def toolbox_at(url: str) -> Toolbox:
    """The tools of the counter at an address."""
    tools = (
        CounterTool(f"{url}/price", "look_up_price", RepeatSafety.READ_ONLY, "GET"),
        CounterTool(f"{url}/keyed", "book", RepeatSafety.IDEMPOTENT),
        CounterTool(f"{url}/unsafe", "dispatch", RepeatSafety.UNSAFE),
    )
    return Toolbox({tool.name: tool for tool in tools})
