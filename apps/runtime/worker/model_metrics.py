"""Metrics of a worker's model calls."""

import time
from typing import Final

from apps.llm.model_backend import BackendError, Usage
from apps.telemetry.product_metrics import MODEL_CALLS, MODEL_SECONDS, MODEL_TOKENS

TOKEN_CLASSES: Final = ("input", "output", "cache_read", "cache_write_5m", "cache_write_1h")


class ModelCallTimer:
    """Measures a model call, however it ends. A class, since a generator would take four times the memory per waiting call."""

    __slots__ = ("_begun",)

    def __enter__(self) -> None:
        self._begun = time.monotonic()

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        result = "ok" if error is None else error.code if isinstance(error, BackendError) else "cancelled"
        MODEL_CALLS.labels(result=result).inc()
        MODEL_SECONDS.observe(time.monotonic() - self._begun)


def count_tokens(usage: Usage) -> None:
    """Count the tokens of a call."""
    for name in TOKEN_CLASSES:
        MODEL_TOKENS.labels(**{"class": name}).inc(getattr(usage, f"{name}_tokens"))
