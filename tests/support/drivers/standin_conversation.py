"""A conversation with the stand-in, in process: the prompt sections, tools and turns its tests share."""

import json
from collections.abc import Sequence

from apps.llm.model_backend import Json, JsonObject
from apps.standin.behaviour import decide
from apps.standin.decisions import Call, Calls, Say
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


def framed(text: str, header: str = "New message · Kim <http:1>") -> str:
    return f'[{header}]\n<data id="0123">\n{json.dumps(text, ensure_ascii=False)}\n</data id="0123">'


def owner(text: str) -> str:
    return f"[Operator instruction from your owner — not the contact]\n{text}"


class Talk:
    """A conversation with the stand-in, message by message."""

    def __init__(self, *sections: str, tools: Sequence[JsonObject] = TOOLS) -> None:
        self.request: JsonObject = {"model": "m", "max_tokens": 500, "system": "\n\n---\n\n".join(sections)}
        self.tools = tools
        self.messages: list[JsonObject] = []

    def say(self, text: str) -> Say | Call:
        self.messages.append({"role": "user", "content": text})
        return self._answer()

    def give(self, result: Json, *, is_error: bool = False) -> Say | Call:
        """The result of the tool called last."""
        block: JsonObject = {"type": "tool_result", "tool_use_id": f"t{len(self.messages) - 1}", "content": result}
        self.messages.append({"role": "user", "content": [block | ({"is_error": True} if is_error else {})]})
        return self._answer()

    def _answer(self) -> Say | Call:
        body = json.dumps(self.request | {"messages": list(self.messages), "tools": list(self.tools)}).encode()
        decision = decide(parse_request(body))
        assert decide(parse_request(body)) == decision
        assert not isinstance(decision, Calls), "only a script calls several tools at once"
        block: JsonObject = (
            {
                "type": "tool_use",
                "id": f"t{len(self.messages)}",
                "name": decision.tool_name,
                "input": decision.arguments,
            }
            if isinstance(decision, Call)
            else {"type": "text", "text": decision.text}
        )
        self.messages.append({"role": "assistant", "content": [block]})
        return decision


def words(decision: Say | Call) -> str:
    assert isinstance(decision, Say)
    return decision.text
