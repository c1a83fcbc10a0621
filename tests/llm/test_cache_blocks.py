"""A request laid out as the cache sees it, and the plan's marks put back onto it."""

from dataclasses import replace

import pytest

from apps.llm.cache_blocks import request_blocks, with_marks
from apps.llm.cache_rules import CacheBlock
from apps.llm.model_backend import JsonObject, MessageMark, ModelRequest, SystemBlock, ToolDefinition

pytestmark = pytest.mark.pure

TOOL = ToolDefinition("look_up", "Look it up.", {"type": "object"})
MESSAGES: tuple[JsonObject, ...] = (
    {"role": "user", "content": "Where is it?"},
    {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "look_up", "input": {}}]},
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "Here."}]},
)
REQUEST = ModelRequest("claude-sonnet-5", 100, (SystemBlock("Be kind.", cache="1h"),), MESSAGES, (TOOL,))


def test_blocks_stand_in_hashing_order_with_their_kinds_and_tokens() -> None:
    blocks = request_blocks(REQUEST)
    assert [block.kind for block in blocks] == ["tool", "text", "text", "tool_use", "tool_result"]
    assert blocks[1] == CacheBlock(b'system\n{"type":"text","text":"Be kind."}', "text", 2, "1h")
    # A text counts its words, anything else its JSON, four bytes a token.
    assert blocks[2].tokens == 3
    assert blocks[3].tokens == -(-len('{"type":"tool_use","id":"t1","name":"look_up","input":{}}') // 4)


def test_setting_changes_the_place_of_messages_and_of_nothing_before_them() -> None:
    plain, careful = request_blocks(REQUEST), request_blocks(replace(REQUEST, effort="high"))
    assert [one == other for one, other in zip(plain, careful, strict=True)] == [True, True, False, False, False]


def test_marks_are_put_back_onto_tools_system_and_messages() -> None:
    marked = with_marks(REQUEST, ("1h", None, "1h", "5m", None))
    assert (marked.tools[0].cache, marked.system[0].cache) == ("1h", None)
    assert marked.message_marks == (MessageMark(0, 0, "1h"), MessageMark(1, 0, "5m"))
    assert marked.messages == MESSAGES
    assert [block.content for block in request_blocks(marked)] == [block.content for block in request_blocks(REQUEST)]


def test_message_without_blocks_has_none() -> None:
    bare = replace(REQUEST, messages=({"role": "user", "content": None},))
    assert len(request_blocks(bare)) == 2
