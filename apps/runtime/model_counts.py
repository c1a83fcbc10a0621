"""What a worker counts of the models its turns wait for."""

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from apps.llm.backend import BackendError, Usage
from apps.telemetry.counts import MODEL_CALLS, MODEL_SECONDS, MODEL_TOKENS

CLASSES: Final = ("input", "output", "cache_read", "cache_write_5m", "cache_write_1h")


@asynccontextmanager
async def asked_model() -> AsyncIterator[None]:
    """A call of a model, however it ends."""
    begun, result = time.monotonic(), "cancelled"
    try:
        yield
        result = "ok"
    except BackendError as error:
        result = error.code
        raise
    finally:
        MODEL_CALLS.add(result=result)
        MODEL_SECONDS.took(time.monotonic() - begun)


def note_tokens(usage: Usage) -> None:
    """What a call used."""
    for name in CLASSES:
        MODEL_TOKENS.add(getattr(usage, f"{name}_tokens"), **{"class": name})
