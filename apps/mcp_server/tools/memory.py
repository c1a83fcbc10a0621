"""Tools for an agent's memory and its blocks."""

from typing import Final

from apps.api.resources.memory.agent_memory import CreateMemoryBody, UpdateMemoryBlockBody, UpdateMemoryBody
from apps.governance.policy.policy_table import Act
from apps.mcp_server.tool_definition import RestTool
from apps.mcp_server.tools.argument_texts import VERSION_TEXT, WHOLE_BODY_TEXT

MEMORY_TOOLS: Final = (
    RestTool(
        "read_memory",
        "Read what you remember across conversations, with its id and version. It is background and may be stale; look live"
        " data up.",
        "GET",
        "memories/",
        is_single=True,
    ),
    RestTool(
        "update_memory",
        "Replace your memory by a whole new text: read it first, change it, send all of it. Your next session carries it."
        " Lines with a customer's words in them may wait for a person; the answer says which.",
        "PATCH",
        "memories/{id}/",
        ("body", "version"),
        UpdateMemoryBody,
        needs=("body", "version"),
        words={"id": "The memory's id, as read_memory gives it.", "body": WHOLE_BODY_TEXT, "version": VERSION_TEXT},
        acts=(Act.MEMORY_AMEND,),
        is_destructive=True,
        is_idempotent=True,
    ),
    RestTool(
        "create_memory",
        "Write your first memory, where read_memory finds none.",
        "POST",
        "memories/",
        ("body",),
        CreateMemoryBody,
        acts=(Act.MEMORY_AMEND,),
    ),
    RestTool(
        "list_blocks",
        "List the labelled blocks of your memory with their texts. Those with `is_read_only` you cannot change.",
        "GET",
        "memory-blocks/",
        ("label", "search"),
    ),
    RestTool(
        "update_block",
        "Replace the text of one of your memory blocks. People make blocks and may set `is_read_only`.",
        "PATCH",
        "memory-blocks/{id}/",
        ("body", "version"),
        UpdateMemoryBlockBody,
        needs=("body", "version"),
        words={"id": "The block's id, as list_blocks gives it.", "body": WHOLE_BODY_TEXT, "version": VERSION_TEXT},
        acts=(Act.BLOCK_AMEND,),
        is_destructive=True,
        is_idempotent=True,
    ),
)
