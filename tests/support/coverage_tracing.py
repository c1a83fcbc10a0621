"""The tests that coverage traces in `make test-all COVER=1`: those that prove the kernel. Tracing makes a test a third slower."""

import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fnmatch import fnmatch
from functools import cache
from importlib import import_module
from typing import Any, Final

import pytest

from apps.governance.policy.surface_conformance import surfaces
from apps.launcher.data_folders import PROJECT
from tests.conventions.coverage_floors import KERNEL as FLOORS

EVERYTHING: Final = os.environ.get("TRACE_EVERYTHING") == "1"


def import_kernel() -> None:
    """Import the kernel's modules while they are traced; lines of modules imported later do not count."""
    for name in _kernel():
        import_module(name)
    # Surfaces register themselves when they are imported, which happens at the first call.
    surfaces()


@cache
def _kernel() -> tuple[str, ...]:
    places = [path.relative_to(PROJECT) for path in sorted((PROJECT / "apps").glob("**/*.py"))]
    patterns = [pattern for floor in FLOORS for pattern in floor.patterns]
    inside = [place for place in places if any(fnmatch(str(place), pattern) for pattern in patterns)]
    return tuple(".".join(place.with_suffix("").parts).removesuffix(".__init__") for place in inside)


@cache
def cache_clearers() -> tuple[Callable[[], None], ...]:
    """Return functions that clear the caches of the kernel's functions."""
    values: list[Any] = [
        value for name in _kernel() for value in vars(import_module(name)).values()
    ]  # Any: whatever a module has
    return tuple({id(value): value.cache_clear for value in values if hasattr(value, "cache_clear")}.values())


def is_traced(item: pytest.Item) -> bool:
    """Return whether the lines of a test count: it is marked `kernel`, or everything is traced."""
    if item.get_closest_marker("unmeasured"):
        return False
    return EVERYTHING or item.get_closest_marker("kernel") is not None


@contextmanager
def without_tracing() -> Iterator[None]:
    """Run without coverage: in a worker of xdist, pytest-cov's own pause leaves the tracer of subprocesses on.

    New threads are untraced as well: Python 3.11 refuses to install a tracer in a thread while another thread is at it,
    which ends a thread of those tests that start many at once.

    The caches that the kernel filled meanwhile are cleared. Otherwise a line would count or not by the order of the tests.
    """
    tracer, tracer_of_threads = sys.gettrace(), threading.gettrace()
    sys.settrace(None)
    threading.settrace(None)
    try:
        yield
    finally:
        if tracer is not None:
            for forget in cache_clearers():
                forget()
        sys.settrace(tracer)
        threading.settrace(tracer_of_threads)
