"""Tests whose lines do not count run without a tracer, in every thread."""

import sys
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.coverage_tracing import without_tracing

pytestmark = [pytest.mark.pure, pytest.mark.unmeasured]


def _tracer(*_: Any) -> None:
    """Do nothing; the interpreter calls it with anything."""


@pytest.fixture
def traced() -> Iterator[None]:
    """Trace this thread and new ones, as coverage does."""
    before, before_of_threads = sys.gettrace(), threading.gettrace()
    sys.settrace(_tracer)
    threading.settrace(_tracer)
    yield
    sys.settrace(before)
    threading.settrace(before_of_threads)


def tracers() -> tuple[object, object]:
    """Return the tracer of this thread and of one that begins now."""
    begun: list[object] = []
    thread = threading.Thread(target=lambda: begun.append(sys.gettrace()))
    thread.start()
    thread.join()
    return sys.gettrace(), begun[0]


@pytest.mark.usefixtures("traced")
def test_no_thread_is_traced_in_a_test_whose_lines_do_not_count() -> None:
    assert tracers() == (_tracer, _tracer)
    with without_tracing():
        assert tracers() == (None, None)
    assert tracers() == (_tracer, _tracer)
