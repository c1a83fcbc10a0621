"""Checks of servers that may be frozen: they run in threads, so that a request waits for them only as long as it wants to."""

import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Final

logger = logging.getLogger(__name__)

NO_ANSWER: Final = "does not answer"
NOT_CHECKED: Final = "not checked yet"
# After so long, what a run of checks found at its beginning does not count any more.
OVERDUE_SECONDS: Final = 5.0


class CheckRun:
    """The results of one run of checks so far."""

    def __init__(self) -> None:
        self.results: dict[str, str] = {}
        self.has_ended = threading.Event()
        self._began = time.monotonic()

    @property
    def is_overdue(self) -> bool:
        """Return whether a check has been waiting for so long that the earlier results do not count any more."""
        return not self.has_ended.is_set() and time.monotonic() - self._began > OVERDUE_SECONDS


class PartChecks:
    """Checks the parts of one server in a thread; the first part is whether the server answers.

    At most one run is under way, so a frozen server holds one thread, however many requests come.
    """

    def __init__(self, names: tuple[str, ...], check_parts: Callable[[], Iterator[tuple[str, str]]]) -> None:
        self._names = names
        self._check_parts = check_parts
        self._run: CheckRun | None = None
        self._last: dict[str, str] = {}
        self._lock = threading.Lock()

    def begin(self) -> CheckRun:
        """Begin a run, or return the one that is under way."""
        with self._lock:
            if self._run is None or self._run.has_ended.is_set():
                self._run = CheckRun()
                threading.Thread(target=self._perform, args=(self._run,), daemon=True).start()
            return self._run

    def results(self, run: CheckRun) -> Mapping[str, str]:
        """Return the results of a run; while it is under way, the parts that are still to come keep their last result."""
        found = {} if run.is_overdue else dict(run.results)
        server, *later = self._names
        if server not in found:
            return {server: NO_ANSWER}
        if run.has_ended.is_set():
            return found
        return {name: self._last.get(name, NOT_CHECKED) for name in later} | found

    def forget(self) -> None:
        """Forget all results."""
        with self._lock:
            self._run = None
            self._last.clear()

    def _perform(self, run: CheckRun) -> None:
        try:
            for name, state in self._check_parts():
                run.results[name] = self._last[name] = state
        except Exception:  # a thread has nobody to raise to
            logger.exception("a check failed", extra={"parts": self._names})
        finally:
            run.has_ended.set()
