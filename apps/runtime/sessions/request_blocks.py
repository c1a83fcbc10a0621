"""A model request as blocks in hashing order: tools, frozen slots, messages; each block with its position and size."""

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

# The most system prompt blocks that are kept in memory.
BLOCKS_KEPT = 512


@dataclass(frozen=True, slots=True)
class RequestBlock:
    """A block with its slot. `reach` is the scope of requests whose bytes are the same up to the end of the block.

    `message` is the index of its message; blocks before the messages have None.
    """

    slot: Slot
    reach: PrefixScope
    block: CacheBlock
    message: int | None = None

    @property
    def label(self) -> str:
        """The block's position in words, for people."""
        return self.slot.name.lower() if self.message is None else f"message {self.message + 1}"


def build_request_blocks(frozen: SessionPrefix, messages: Sequence[JsonObject]) -> tuple[RequestBlock, ...]:
    """The request's blocks. Their contents are hashed without cache marks, as the provider does."""
    return (*_tools(frozen.tools.text), *_system(frozen), *_messages(messages))


def extend_request_blocks(
    known: Sequence[RequestBlock], messages: Sequence[JsonObject], start: int
) -> tuple[RequestBlock, ...]:
    """The blocks of a request that extends a known one with the messages from `start` on."""
    return (*known, *_messages(messages[start:], start))


@lru_cache(maxsize=DEFINITIONS_KEPT)
def _tools(text: str) -> tuple[RequestBlock, ...]:
    return tuple(
        RequestBlock(Slot.TOOLS, PrefixScope.WORKSPACE, block_of("tools", tool.wire)) for tool in read_definitions(text)
    )


def _system(frozen: SessionPrefix) -> Iterator[RequestBlock]:
    """The blocks of the frozen slots. A slot is shared by all agents only if every slot before it is too."""
    reach = PrefixScope.WORKSPACE
    for part, text in zip(frozen.assembled.parts, frozen.assembled.blocks, strict=True):
        reach = max(reach, _reach(part))
        yield RequestBlock(part.slot, reach, _system_block(text))


@lru_cache(maxsize=BLOCKS_KEPT)
def _system_block(text: str) -> CacheBlock:
    """The block of a slot's text. Cached, so that turns with the same bytes share it."""
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
