"""One call of the model in hashing order: tools, frozen slots, messages; each block with its place and its size."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache

from apps.llm.cache_blocks import block_of, content_blocks, message_place
from apps.llm.cache_rules import CacheBlock
from apps.llm.model_backend import JsonObject, SystemBlock
from apps.prompt.cache.breakpoints import PrefixScope
from apps.prompt.prompt_input import Slot
from apps.prompt.rendering.segments import SlotText
from apps.runtime.sessions.session_prefix import DEFINITIONS_KEPT, SessionPrefix, read_definitions

# Of the blocks of system prompts.
BLOCKS_KEPT = 512


@dataclass(frozen=True, slots=True)
class RequestBlock:
    """A block with the slot it belongs to, and who else sends the same bytes up to here.

    `message` is the index of its message; blocks before the messages have none.
    """

    slot: Slot
    reach: PrefixScope
    block: CacheBlock
    message: int | None = None

    @property
    def label(self) -> str:
        """What people call the place."""
        return self.slot.name.lower() if self.message is None else f"message {self.message + 1}"


def build_request_blocks(frozen: SessionPrefix, messages: Sequence[JsonObject]) -> tuple[RequestBlock, ...]:
    """The request's blocks; their contents are hashed as the model's provider would, marks apart."""
    return (*_tools(frozen.tools.text), *_system(frozen), *_messages(messages))


def extend_request_blocks(
    known: Sequence[RequestBlock], messages: Sequence[JsonObject], start: int
) -> tuple[RequestBlock, ...]:
    """The same for a request that goes on behind one whose blocks are known, with the messages from `start` on."""
    return (*known, *_messages(messages[start:], start))


@lru_cache(maxsize=DEFINITIONS_KEPT)
def _tools(text: str) -> tuple[RequestBlock, ...]:
    return tuple(
        RequestBlock(Slot.TOOLS, PrefixScope.WORKSPACE, block_of("tools", tool.wire)) for tool in read_definitions(text)
    )


def _system(frozen: SessionPrefix) -> Iterator[RequestBlock]:
    """A slot that is shared by all agents is so only as long as nothing before it is one agent's own."""
    reach = PrefixScope.WORKSPACE
    for part, text in zip(frozen.assembled.parts, frozen.assembled.blocks, strict=True):
        reach = max(reach, _reach(part))
        yield RequestBlock(part.slot, reach, _system_block(text))


@lru_cache(maxsize=BLOCKS_KEPT)
def _system_block(text: str) -> CacheBlock:
    """Made once for all turns that are sent these bytes."""
    return block_of("system", SystemBlock(text).wire)


def _reach(part: SlotText) -> PrefixScope:
    if part.slot is Slot.PROFILE:
        return PrefixScope.CUSTOMER
    is_ours = part.slot is Slot.CONTRACT and all(segment.source is None for segment in part.segments)
    return PrefixScope.WORKSPACE if is_ours else PrefixScope.AGENT


def _messages(messages: Sequence[JsonObject], start: int = 0) -> Iterator[RequestBlock]:
    for at, message in enumerate(messages, start):
        for block in content_blocks(message):
            yield RequestBlock(
                Slot.TURN, PrefixScope.CONVERSATION, block_of(_role_place(str(message["role"])), block), at
            )


@cache
def _role_place(role: str) -> str:
    return message_place(role, {})
