"""Which tests coverage traces in `make test`: those that prove the kernel. Tracing makes a test a third slower."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import pytest

EVERYTHING: Final = os.environ.get("TRACE_EVERYTHING") == "1"
KERNEL: Final = ("tests/rules/", "tests/governance/")


def is_traced(item: pytest.Item) -> bool:
    """Whether a test's lines count. One that only walks what others reach says so by a marker."""
    return not item.get_closest_marker("unmeasured") and (EVERYTHING or item.nodeid.startswith(KERNEL))


@contextmanager
def untraced() -> Iterator[None]:
    """Without coverage: in a worker of xdist, pytest-cov's own pause leaves the tracer of subprocesses on."""
    tracer = sys.gettrace()
    sys.settrace(None)
    try:
        yield
    finally:
        sys.settrace(tracer)
