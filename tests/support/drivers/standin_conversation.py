"""A conversation with the stand-in in process: the prompt sections, tools and turns that its tests share."""

import json
from collections.abc import Sequence

from apps.llm.model_backend import Json, JsonObject
from apps.standin.behaviour import choose_decision
from apps.standin.decisions import TextDecision, ToolDecision, ToolsDecision
from apps.standin.requests import parse_request

ADA = "# Agent persona\n\n## Identity\nYou are Ada, the support agent for Acme Tools.\n\n## Style\nShort and warm."
SKILLS = (
    "# Skills\n\n"
    "- exchange-item (id: 11) — When a customer wants another size of an item\n"
    "- change-delivery (id: 12) — When a customer asks to change the delivery of an order"
)


def tool(name: str, *required: str, **kinds: str) -> JsonObject:
    properties: JsonObject = {argument: {"type": kinds.get(argument, "string")} for argument in required}
    return {
        "name": name,
        "description": name,
        "input_schema": {"type": "object", "properties": properties, "required": list(required)},
    }


TOOLS = (
    tool("get_skill", "skill_id", skill_id="integer"),
    tool("list_skills"),
    tool("update_customer_profile", "preferences"),
    tool("update_memory", "body"),
    tool("get_order", "order_number"),
)


def fenced_message(text: str, header: str = "New message · Kim <http:1>") -> str:
    return f'[{header}]\n<data id="0123">\n{json.dumps(text, ensure_ascii=False)}\n</data id="0123">'


def operator_message(text: str) -> str:
    return f"[Operator instruction from your owner — not the contact]\n{text}"


class StandInTalk:
    """A conversation with the stand-in, message by message."""

    def __init__(self, *sections: str, tools: Sequence[JsonObject] = TOOLS) -> None:
        self.request: JsonObject = {"model": "m", "max_tokens": 500, "system": "\n\n---\n\n".join(sections)}
        self.tools = tools
        self.messages: list[JsonObject] = []

    def say(self, text: str) -> TextDecision | ToolDecision:
        self.messages.append({"role": "user", "content": text})
        return self._next_answer()

    def give(self, result: Json, *, is_error: bool = False) -> TextDecision | ToolDecision:
        """Send the result of the tool that was called last."""
        block: JsonObject = {"type": "tool_result", "tool_use_id": f"t{len(self.messages) - 1}", "content": result}
        self.messages.append({"role": "user", "content": [block | ({"is_error": True} if is_error else {})]})
        return self._next_answer()

    def _next_answer(self) -> TextDecision | ToolDecision:
        body = json.dumps(self.request | {"messages": list(self.messages), "tools": list(self.tools)}).encode()
        decision = choose_decision(parse_request(body))
        assert choose_decision(parse_request(body)) == decision
        assert not isinstance(decision, ToolsDecision), "only a script calls several tools at once"
        block: JsonObject = (
            {
                "type": "tool_use",
                "id": f"t{len(self.messages)}",
                "name": decision.tool_name,
                "input": decision.arguments,
            }
            if isinstance(decision, ToolDecision)
            else {"type": "text", "text": decision.text}
        )
        self.messages.append({"role": "assistant", "content": [block]})
        return decision


def reply_text(decision: TextDecision | ToolDecision) -> str:
    assert isinstance(decision, TextDecision)
    return decision.text
