"""The body of a model request. Thousands of waiting calls share one copy of the bytes they have in common."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from apps.llm.request_body import arguments_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from apps.llm.model_backend import ModelRequest

PREFIXES_KEPT: Final = 512
# The SDK writes these first; next comes the part that all calls of one agent share.
OWN_ARGUMENTS: Final = ("max_tokens", "messages")


@dataclass(frozen=True, slots=True)
class ModelRequestBody:
    """The bytes that the SDK would write for the same request. They are joined only while being sent, and not stored joined."""

    own: bytes
    common: bytes

    @property
    def length(self) -> int:
        return len(self.own) + len(self.common)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield self.own + self.common


def body_of(request: ModelRequest) -> ModelRequestBody:
    """Return the body of a request. Raises ValueError for values that JSON lacks, UnicodeEncodeError for lone surrogates."""
    arguments = arguments_of(request)
    own = _encode_arguments({name: arguments.pop(name) for name in OWN_ARGUMENTS})
    return ModelRequestBody(f"{own[:-1]},".encode(), _intern_bytes(_encode_arguments(arguments)[1:].encode()))


# Any: the reason is beside `arguments_of`.
def _encode_arguments(arguments: dict[str, Any]) -> str:
    return json.dumps(arguments, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


@lru_cache(PREFIXES_KEPT)
def _intern_bytes(common: bytes) -> bytes:
    return common
