"""Tools for what an agent is and remembers: its persona, the rules, its memory and its blocks."""

from typing import Final

from apps.api.resources.memory.agent_memory import BlockChange, MemoryChange, NewMemory
from apps.api.resources.personas.personas import PersonaChange
from apps.api.resources.review.proposal_decisions import NewProposal
from apps.governance.models import Proposal
from apps.governance.policy.table import Act
from apps.mcp_server.tool_definition import Tool

READ: Final = "The version you read. If it has changed since, nothing is written and you are told the current one."
WHOLE: Final = "The whole new text. What you leave out is gone."

FOR_ITSELF: Final = (
    Tool(
        "read_persona",
        "Read your persona: who you are, your style, what to avoid, your defaults and goals, and the patch of yours that waits"
        " for a person, if there is one. People write it; you can only propose.",
        "GET",
        "personas/",
        is_single=True,
    ),
    Tool(
        "propose_persona_patch",
        "Propose a change of your persona, in your own words. Nothing changes until a person has agreed. A second proposal"
        " takes the place of the one that waits.",
        "PATCH",
        "personas/{id}/",
        ("proposed_patch", "version"),
        PersonaChange,
        needs=("proposed_patch",),
        words={"id": "The persona's id, as read_persona gives it.", "version": READ},
        acts=(Act.PERSONA_PROPOSE,),
        is_idempotent=True,
    ),
    Tool(
        "list_rules",
        "List the standing rules you keep to: the organisation's and your own. People write them.",
        "GET",
        "rules/",
        ("status", "search"),
    ),
    Tool(
        "propose_rule_change",
        "Propose that a standing rule be worded otherwise. The rule holds as it is until a person has agreed.",
        "POST",
        "proposals/",
        ("target_id", "content", "rationale"),
        NewProposal,
        sets={"kind": Proposal.Kind.RULE_CHANGE.value},
        needs=("target_id", "content"),
        words={
            "target_id": "The rule's id, as list_rules gives it.",
            "content": 'The new words, as {"text": "..."}.',
            "rationale": "Why it should read otherwise, for the person who decides.",
        },
        acts=(Act.RULE_PROPOSE,),
    ),
    Tool(
        "read_memory",
        "Read what you remember across conversations, with its id and version. It is background and may be stale; look live"
        " data up.",
        "GET",
        "memories/",
        is_single=True,
    ),
    Tool(
        "update_memory",
        "Replace your memory by a whole new text: read it first, change it, send all of it. Your next session carries it."
        " Lines with a customer's words in them may wait for a person; the answer says which.",
        "PATCH",
        "memories/{id}/",
        ("body", "version"),
        MemoryChange,
        needs=("body", "version"),
        words={"id": "The memory's id, as read_memory gives it.", "body": WHOLE, "version": READ},
        acts=(Act.MEMORY_AMEND,),
        is_destructive=True,
        is_idempotent=True,
    ),
    Tool(
        "create_memory",
        "Write your first memory, where read_memory finds none.",
        "POST",
        "memories/",
        ("body",),
        NewMemory,
        acts=(Act.MEMORY_AMEND,),
    ),
    Tool(
        "list_blocks",
        "List the labelled blocks of your memory with their texts. Those with `is_read_only` you cannot change.",
        "GET",
        "memory-blocks/",
        ("label", "search"),
    ),
    Tool(
        "update_block",
        "Replace the text of one of your memory blocks. People make blocks and may set `is_read_only`.",
        "PATCH",
        "memory-blocks/{id}/",
        ("body", "version"),
        BlockChange,
        needs=("body", "version"),
        words={"id": "The block's id, as list_blocks gives it.", "body": WHOLE, "version": READ},
        acts=(Act.BLOCK_AMEND,),
        is_destructive=True,
        is_idempotent=True,
    ),
)
